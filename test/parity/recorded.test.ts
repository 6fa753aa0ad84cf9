/** `verify parity` on episodes that were really played: nothing differs, and everything that is made to differ is found. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ParityCounts, ParityDifference } from '../../activities/episode/recorded-parity.js';
import { checkRecorded } from '../../activities/episode/recorded-parity.js';
import type { Trajectory } from '../../activities/episode/trajectory.js';
import { formatOf } from '../../activities/episode/turn-differences.js';
import type { OutputFormat } from '../../core/interpret/format.js';
import type { EpisodeTokens } from '../../core/policy.js';
import { decodeTokens, encodeTokens } from '../../core/tokens.js';
import { inProcess } from '../in-process.js';
import { playSmallRun, type SmallRun } from './small-run.js';

const ID = 'eval/parity';
const EPISODES = 6;

let run: SmallRun;
let printed = '';
let said = '';

beforeAll(async () => {
  run = await playSmallRun(ID, EPISODES);
  // Temporal and the trainer are not there: what is recorded is enough.
  run.services.stop();
});
afterAll(() => run.stop());
afterEach(() => void vi.unstubAllEnvs());

async function verify(...args: string[]): Promise<number> {
  vi.stubEnv('TEMPORAL_ADDRESS', '127.0.0.1:9');
  vi.stubEnv('DATABASE_URL', run.db.url);
  vi.stubEnv('STEADFAST_ARTIFACTS', path.join(run.folder, 'artifacts'));
  const ran = await inProcess('verify', 'parity', ...args);
  [printed, said] = [ran.out, ran.err];
  return ran.code;
}

type Printed = { counts: ParityCounts; differences: ParityDifference[]; unchecked: { keys: string[] } };

async function trajectoryAt(index: number): Promise<{ key: string; trajectory: Trajectory }> {
  const row = (await run.attempts())[index]!;
  const bytes = await run.artifacts.get(row.trajectory!);
  return { key: row.key, trajectory: JSON.parse(new TextDecoder().decode(bytes)) as Trajectory };
}

/** An episode whose agent made a call and was told something. */
async function talkative(): Promise<{ key: string; trajectory: Trajectory }> {
  for (let index = 0; index < EPISODES; index++) {
    const found = await trajectoryAt(index);
    const calls = found.trajectory.messages.some((m) => m.role === 'assistant' && m.toolCalls.length > 0);
    if (calls && found.trajectory.turns.length > 1) return found;
  }
  throw new Error('no episode with a call and a second turn');
}

async function differencesOf(
  trajectory: Trajectory,
  format?: (trajectory: Trajectory) => OutputFormat | undefined,
): Promise<ParityDifference[]> {
  const digest = await run.artifacts.put(new TextEncoder().encode(JSON.stringify(trajectory)));
  const found: ParityDifference[] = [];
  await checkRecorded([{ key: 'k', trajectory: digest }], {
    artifacts: run.artifacts,
    onDifference: (difference) => found.push(difference),
    onUnchecked: (_key, reason) => expect.fail(reason),
    ...(format ? { format } : {}),
  });
  return found;
}

async function withTokens(
  trajectory: Trajectory,
  change: (tokens: EpisodeTokens) => void,
): Promise<Trajectory> {
  const { ids, sampled, logprobs } = decodeTokens(await run.artifacts.get(trajectory.tokens!));
  const copy = { ids: ids.slice(), sampled: sampled.slice(), logprobs: logprobs.slice() };
  change(copy);
  return { ...trajectory, tokens: await run.artifacts.put(encodeTokens(copy)) };
}

test('a run that nobody has touched: every turn read, every prompt rendered, no difference', async () => {
  expect(await verify('--run', ID, '--json')).toBe(0);
  const { counts, differences } = JSON.parse(printed) as Printed;
  expect(differences).toEqual([]);
  expect(counts).toMatchObject({ episodes: EPISODES, differences: 0, unchecked: 0 });
  expect(counts.turns).toBeGreaterThan(EPISODES);
  expect([counts.read, counts.spans]).toEqual([counts.turns, counts.turns]);
  expect(counts.calls).toBeGreaterThan(0);
  const lengths = await Promise.all(
    (await run.attempts()).map(async (_row, index) => {
      const { trajectory } = await trajectoryAt(index);
      return decodeTokens(await run.artifacts.get(trajectory.tokens!)).ids.length;
    }),
  );
  expect(counts.tokens).toBe(lengths.reduce((sum, length) => sum + length));
  expect(await verify('--run', 'parity')).toBe(0);
  expect(printed).toContain(`✓ ${ID}: no difference`);
});

describe('finds', () => {
  test('an argument that was recorded otherwise', async () => {
    const { trajectory } = await talkative();
    const messages = trajectory.messages.map((message) =>
      message.role === 'assistant'
        ? {
            ...message,
            toolCalls: message.toolCalls.map((call) => ({ ...call, arguments: { ...call.arguments, x: 1 } })),
          }
        : message,
    );
    const [first] = await differencesOf({ ...trajectory, messages });
    expect(first).toMatchObject({ key: 'k', expected: '1', found: 'absent' });
    expect(first?.field).toMatch(/^calls\[0\]\.arguments\.x$/);
    expect(first?.turn).toBeGreaterThan(0);
  });

  test('another content, reasoning or problem', async () => {
    const { trajectory } = await talkative();
    const messages = trajectory.messages.map((message) =>
      message.role === 'assistant' ? { ...message, content: 'no', reasoning: 'none' } : message,
    );
    const turns = trajectory.turns.map((turn) => ({ ...turn, problems: ['p'] }));
    const fields = (await differencesOf({ ...trajectory, messages, turns })).map(({ field }) => field);
    expect(new Set(fields)).toEqual(new Set(['content', 'reasoning', 'problems[0]']));
  });

  test('an interpreter that reads otherwise', async () => {
    const { trajectory } = await talkative();
    const numeric = (original: Trajectory): OutputFormat => {
      const format = formatOf(original)!;
      return {
        name: format.name,
        reasons: format.reasons,
        interpret(text, tools) {
          const read = format.interpret(text, tools);
          return { ...read, calls: read.calls.map((call) => ({ ...call, name: call.name.toUpperCase() })) };
        },
      };
    };
    const found = await differencesOf(trajectory, numeric);
    expect(found.every(({ field }) => /^calls\[\d+\]\.name$/.test(field))).toBe(true);
    expect(found.length).toBeGreaterThan(0);
  });

  test('a token of the first prompt, of a delta, and a sampled one, each where it is', async () => {
    const { trajectory } = await talkative();
    const [first, second] = trajectory.turns;
    const start = first!.promptTokens + first!.sampledTokens;
    const prompt = await withTokens(trajectory, ({ ids }) => {
      ids[3] = ids[3]! + 1;
    });
    expect(await differencesOf(prompt)).toMatchObject([{ turn: 1, field: 'first prompt, token 3' }]);
    const delta = await withTokens(trajectory, ({ ids }) => {
      ids[start + 1] = ids[start + 1]! + 1;
    });
    expect(start + 1).toBeLessThan(second!.promptTokens);
    expect(await differencesOf(delta)).toMatchObject([{ turn: 2, field: `delta, token ${start + 1}` }]);
    const sampled = await withTokens(trajectory, ({ ids }) => {
      ids[first!.promptTokens] = ids[first!.promptTokens]! + 1;
    });
    expect(await differencesOf(sampled)).toMatchObject([{ turn: 1, field: 'raw' }]);
  });

  test('a flag that says a prompt token was sampled', async () => {
    const { trajectory } = await talkative();
    const flagged = await withTokens(trajectory, ({ sampled }) => {
      sampled[2] = 1;
    });
    expect(await differencesOf(flagged)).toMatchObject([{ turn: 1, field: 'token record' }]);
  });

  test('a message that the policy was never told', async () => {
    const { trajectory } = await talkative();
    const at = trajectory.messages.findIndex(({ role }) => role === 'assistant') + 1;
    const messages = trajectory.messages.with(at, { ...trajectory.messages[at]!, content: 'else .' });
    const [first] = await differencesOf({ ...trajectory, messages });
    expect(first).toMatchObject({ turn: 2, field: expect.stringMatching(/^delta, token \d+$/) });
  });

  test('a format that this program does not have', async () => {
    const { trajectory } = await talkative();
    const reading = { ...trajectory.reading!, format: 'klingon' };
    expect(await differencesOf({ ...trajectory, reading })).toMatchObject([
      { turn: null, field: 'format', expected: '"klingon"' },
    ]);
  });
});

describe('the command', () => {
  test('names a corrupt artifact, its digest and path, and looks at the rest', async () => {
    const row = (await run.attempts())[2]!;
    const file = run.artifacts.path(row.trajectory!);
    const whole = readFileSync(file);
    try {
      writeFileSync(file, whole.subarray(0, whole.length - 2));
      expect(await verify('--run', ID)).toBe(1);
      expect(printed).toContain(`✗ ${ID}: 1 differences`);
      expect(printed).toContain(`${row.key}, artifact`);
      expect(printed).toContain(row.trajectory);
      expect(printed).toContain(file);
      expect(printed).toContain(`${EPISODES} episodes`);
    } finally {
      writeFileSync(file, whole);
    }
    const { trajectory } = await trajectoryAt(2);
    const tools = run.artifacts.path(trajectory.reading!.tools);
    const list = readFileSync(tools);
    try {
      rmSync(tools);
      expect(await verify('--run', ID, '--json')).toBe(1);
      const { counts, differences } = JSON.parse(printed) as Printed;
      expect(counts.differences).toBeGreaterThan(0);
      expect(differences[0]?.found).toContain(tools);
    } finally {
      writeFileSync(tools, list);
    }
  });

  test('shows 20 differences, and has all of them in a file', async () => {
    const { trajectory } = await talkative();
    const out = path.join(run.folder, 'differences.jsonl');
    const lines = Array.from({ length: 30 }, (_, index) =>
      JSON.stringify({
        key: `o${index}`,
        input: trajectory.turns[0]!.raw,
        reasoning: 'else',
        content: '',
        tool_calls: [],
      }),
    );
    const file = path.join(run.folder, 'outputs.jsonl');
    writeFileSync(file, lines.join('\n'));
    expect(await verify('--file', file, '--out', out)).toBe(1);
    expect(printed).toContain(`more; all of them in ${out}`);
    expect(printed.match(/, reasoning: recorded/g)?.length).toBeLessThanOrEqual(20);
    const written = readFileSync(out, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ParityDifference);
    expect(new Set(written.map(({ key }) => key)).size).toBe(30);
  });

  test('says which episodes it could not check, and exits 3', async () => {
    const { key, trajectory } = await talkative();
    const { reading: _reading, ...old } = trajectory;
    const digest = await run.artifacts.put(new TextEncoder().encode(JSON.stringify(old)));
    const row = (await run.attempts()).find((each) => each.key === key)!;
    const swap = (from: string, to: string) =>
      run.db.pool.query('UPDATE tries SET trajectory = $2 WHERE trajectory = $1', [from, to]);
    try {
      await swap(row.trajectory!, digest);
      expect(await verify('--run', ID)).toBe(3);
      expect(printed).toContain('1 episodes not checked: recorded before');
      expect(printed).toContain(key);
    } finally {
      await swap(digest, row.trajectory!);
    }
  });

  test('names file and line of what it cannot read, and wants one source', async () => {
    const file = path.join(run.folder, 'bad.jsonl');
    writeFileSync(file, '{"input": "a", "content": "a"}\n\n{"input": 3}\n');
    expect(await verify('--file', file)).toBe(2);
    expect(said).toContain(`${file}:3, input`);
    writeFileSync(file, '{"input": "a"}\n');
    expect(await verify('--file', file)).toBe(2);
    expect(said).toContain('at least one of reasoning, content, tool_calls');
    expect(await verify('--file', `${file}.gone`)).toBe(2);
    expect(said).toContain('ENOENT');
    expect(await verify()).toBe(2);
    expect(said).toContain('one of --run and --file');
    expect(await verify('--run', 'eval/parit')).toBe(2);
    expect(said).toContain('Did you mean eval/parity?');
  });
});
