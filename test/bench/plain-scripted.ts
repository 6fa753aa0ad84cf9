/**
 * The baseline of the orchestration figure, a process of its own: the same episodes with inline MCP sessions and
 * user and judge over HTTP, without Temporal, ledger and artifacts.
 *
 *   node dist/test/bench/plain-scripted.js USER_URL JUDGE_URL WARM_UP_REPEAT REPEAT
 *
 * Prints `{seconds, wall, episodes, passed}`: CPU-seconds of this process without the warm-up.
 */
import { createJudge } from '../../activities/episode/judge.js';
import { playEpisode } from '../../activities/episode/play.js';
import { createUser } from '../../activities/episode/user.js';
import { createChatModel } from '../../activities/policy/chat-model.js';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import { attemptKey } from '../../core/keys.js';
import { seedOf } from '../../core/seed.js';
import { createScriptedPolicy } from '../../suites/deskbench/scripted.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { ownCpu } from '../../workers/plain-loop/cpu.js';
import { inLanes } from '../../workers/plain-loop/episodes.js';
import { ERROR_RATE, LANES, SEED, scriptedConfig } from './scripted-config.js';

export interface PlainResult {
  readonly seconds: number;
  readonly wall: number;
  readonly episodes: number;
  readonly passed: number;
}

const [userUrl = '', judgeUrl = '', warmUp = '1', repeat = '1'] = process.argv.slice(2);
const suite = createDeskbench();
const driver = createInlineDriver();
const policy = createScriptedPolicy({ errorRate: ERROR_RATE, turnDelayMs: 0 });
const user = createUser(createChatModel({ kind: 'user', baseUrl: userUrl, model: 'rules', apiKeyEnv: null }));
const judge = createChatModel({ kind: 'judge', baseUrl: judgeUrl, model: 'rules', apiKeyEnv: null });
const { tasks, sampling, limits } = await scriptedConfig(1, { errorRate: ERROR_RATE, turnDelayMs: 0 });

/** Returns how many passed. Throws the fault of an episode that had one: there is nothing here to cause any. */
async function play(owner: string, times: number): Promise<number> {
  let passed = 0;
  let at = 0;
  await inLanes(
    LANES,
    () => (at < tasks.length * times ? at++ : undefined),
    async (ordinal) => {
      const taskId = tasks[Math.floor(ordinal / times)]!;
      const key = attemptKey(owner, taskId, String(ordinal % times));
      const played = await playEpisode({
        task: await suite.load(taskId),
        driver,
        sandboxName: `plain-${owner}-${ordinal}`,
        policy,
        user,
        judge: (meter) => createJudge(judge, meter),
        sampling,
        limits,
        seed: seedOf(SEED, key),
        signal: new AbortController().signal,
      });
      if (!played.clean) throw played.fault;
      if (played.clean.verdict.passed) passed += 1;
    },
  );
  return passed;
}

await play('eval/warm-up', Number(warmUp));
const cpu = ownCpu();
const clock = performance.now();
const passed = await play('eval/scripted', Number(repeat));
const result: PlainResult = {
  seconds: ownCpu() - cpu,
  wall: (performance.now() - clock) / 1_000,
  episodes: tasks.length * Number(repeat),
  passed,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exit(0);
