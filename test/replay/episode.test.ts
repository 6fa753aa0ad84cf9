/** Replay of an episode without a stack: what is found, on a server in this process and on one of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { playEpisode } from '../../activities/episode/play.js';
import { type EpisodeReplay, replayEpisode } from '../../activities/episode/replay.js';
import { storeTrajectory, type Trajectory } from '../../activities/episode/trajectory.js';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import type { ArtifactStore } from '../../core/artifacts.js';
import type { Task } from '../../core/suite.js';
import { EPISODE_LIMITS, SAMPLING } from '../../temporal.config.js';
import { episodeParts } from '../episode/fixtures/parts.js';
import type { Line } from '../episode/fixtures/scripted.js';
import { shelfTask } from '../episode/fixtures/shelf-task.js';

let folder = '';
let artifacts: ArtifactStore;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'replay-episode-'));
  artifacts = createLocalArtifacts(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const LINES: readonly Line[] = [
  { call: [['look', { id: 'a' }]] },
  {
    call: [
      ['look', { id: 'nothing' }],
      ['nonsense', {}],
      ['put', { id: 'a', count: 2 }],
    ],
  },
  { call: [['put', { id: 'a', count: 9 }]], cutOff: true },
  { say: 'done . <DONE>' },
];

async function recorded(lines = LINES): Promise<Trajectory> {
  const task = shelfTask();
  const played = await playEpisode(episodeParts(lines, { task }));
  expect(played.clean).toBeDefined();
  const common = { key: 'eval/e · shelf:put · 0', taskId: task.ref.id, suite: 'shelf', seed: '1' };
  const model = { kind: 'scripted', errorRate: 0, turnDelayMs: 0 } as const;
  const input = { ...common, model, weightVersion: null, tryNumber: 1, lastTry: 1 };
  const settings = { sampling: SAMPLING, limits: EPISODE_LIMITS };
  const digest = await storeTrajectory(artifacts, { ...input, ...settings }, task.ref, played);
  return JSON.parse(new TextDecoder().decode(await artifacts.get(digest))) as Trajectory;
}

function replay(trajectory: Trajectory, task: Task = shelfTask()): Promise<EpisodeReplay> {
  return replayEpisode({
    trajectory,
    task,
    driver: createInlineDriver(),
    sandboxName: 'replay-1',
    toolMs: 5_000,
    signal: new AbortController().signal,
  });
}

describe('an episode', () => {
  it('comes out as recorded: results, errors of tools, unknown tools, calls that were cut off', async () => {
    expect(await replay(await recorded())).toMatchObject({
      identical: true,
      differences: [],
      turns: 4,
      calls: 4,
    });
  });

  it('on a backend that starts otherwise: the first observation and the final state differ', async () => {
    const other = shelfTask({
      init: async (tools, signal) => {
        await tools.call('shelf', '__reserved__init', { rows: { a: 5, b: 7 } }, { signal, timeoutMs: 5_000 });
      },
    });
    const { identical, differences } = await replay(await recorded(), other);
    expect(identical).toBe(false);
    expect(differences).toEqual([
      { what: 'observation of c0 (look)', recorded: 'a has 1', replayed: 'a has 5' },
      { what: 'final state: shelf.b', recorded: 'absent', replayed: '7' },
    ]);
  });

  it('with effects that were changed afterwards: the row is named', async () => {
    const trajectory = await recorded();
    const { differences } = await replay({ ...trajectory, effects: { shelf: { a: 3 } } });
    expect(differences).toEqual([{ what: 'final state: shelf.a', recorded: '3', replayed: '2' }]);
  });

  it('with a tool that is gone: its calls are no longer made', async () => {
    const task = shelfTask();
    const fewer = shelfTask({
      visibleTools: async (tools, signal) =>
        (await task.visibleTools(tools, signal)).filter(({ name }) => name !== 'put'),
    });
    const { differences } = await replay(await recorded(), fewer);
    expect(differences.map(({ what }) => what)).toContain('final state: shelf.a');
    expect(differences.find(({ what }) => what === 'observation of c3 (put)')?.replayed).toMatch(
      /unknown tool "put"/,
    );
  });
});

describe("a token policy's text", () => {
  const call = (count: string) =>
    `</think>\n\n<tool_call>\n<function=put>\n<parameter=id>\na\n</parameter>\n<parameter=count>\n${count}\n</parameter>\n</function>\n</tool_call>`;

  async function sampled(raw: string): Promise<Trajectory> {
    const trajectory = await recorded([{ call: [['put', { id: 'a', count: 2 }]] }, { say: 'done . <DONE>' }]);
    const turns = trajectory.turns.map((turn, at) => ({
      ...turn,
      raw: at === 0 ? raw : '</think>\n\ndone . <DONE>',
    }));
    return { ...trajectory, turns, tokens: 'sha256:0' };
  }

  it('gives the same calls', async () => {
    expect(await replay(await sampled(call('2')))).toMatchObject({ identical: true, turnsRead: 2 });
  });

  it('that is read otherwise today: the turn and the path are named, and the recorded calls are made', async () => {
    const { differences } = await replay(await sampled(call('3')));
    expect(differences).toEqual([
      { what: 'turn 1, calls[0].arguments.count as read today', recorded: '2', replayed: '3' },
    ]);
  });
});

it("a chat model's calls are read again from its reply", async () => {
  const trajectory = await recorded([{ call: [['put', { id: 'a', count: 2 }]] }, { say: 'done . <DONE>' }]);
  const calls = [{ id: 'x', type: 'function', function: { name: 'put', arguments: '{"id":"a","count":4}' } }];
  const raws = [
    JSON.stringify({ content: '', tool_calls: calls }),
    JSON.stringify({ content: 'done . <DONE>' }),
  ];
  const turns = trajectory.turns.map((turn, at) => ({ ...turn, raw: raws[at]! }));
  expect(await replay({ ...trajectory, turns })).toMatchObject({
    turnsRead: 2,
    differences: [{ what: 'turn 1, calls[0].arguments.count as read today', recorded: '2', replayed: '4' }],
  });
});
