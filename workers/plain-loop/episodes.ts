/** Episodes in lanes: many at a time, each tried again on a fault, none recorded anywhere. */
import { createJudge } from '../../activities/episode/judge.js';
import { type PlayedEpisode, playEpisode } from '../../activities/episode/play.js';
import { Policies } from '../../activities/episode/policies.js';
import { createUser } from '../../activities/episode/user.js';
import { createChatModel } from '../../activities/policy/chat-model.js';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import { Fault } from '../../core/faults.js';
import type { Verdict } from '../../core/outcome.js';
import type { EpisodeTokens } from '../../core/policy.js';
import { seedOf } from '../../core/seed.js';
import type { Suite } from '../../core/suite.js';
import { JUDGE_MODEL, USER_MODEL } from '../../suites/deskbench/endpoints/app.js';
import { EPISODE_LIMITS, MAX_TRIES, SAMPLING } from '../../temporal.config.js';
import type { Services } from './services.js';

export interface Finished {
  readonly key: string;
  readonly verdict: Verdict;
  readonly tokens: EpisodeTokens | undefined;
  readonly played: PlayedEpisode;
}

export class Episodes {
  private readonly policies: Policies;
  private readonly driver = createInlineDriver();
  private readonly user;
  private readonly judge;
  private count = 0;
  faults = 0;

  constructor(
    private readonly suite: Suite,
    services: Services,
    private readonly seed: number,
    readonly concurrency: number,
  ) {
    const scripted = async (): Promise<never> =>
      Promise.reject(new Error('this loop samples from the trainer only'));
    this.policies = new Policies({ trainerUrl: `${services.trainerUrl}/v1`, scripted });
    const { userUrl, judgeUrl } = services;
    this.user = createUser(
      createChatModel({ kind: 'user', baseUrl: userUrl, model: USER_MODEL, apiKeyEnv: null }),
    );
    this.judge = createChatModel({ kind: 'judge', baseUrl: judgeUrl, model: JUDGE_MODEL, apiKeyEnv: null });
  }

  /** One clean episode. Throws the last fault when every try met one. */
  async run(key: string, taskId: string, weightVersion: string): Promise<Finished> {
    const signal = new AbortController().signal;
    const model = { kind: 'trainer', checkpoint: 'base' } as const;
    for (let tryNumber = 1; ; tryNumber += 1) {
      const played = await playEpisode({
        task: await this.suite.load(taskId),
        driver: this.driver,
        sandboxName: `loop-${this.count++}`,
        policy: await this.policies.of({ model, suite: this.suite.name, weightVersion }, signal),
        user: this.user,
        judge: (meter) => createJudge(this.judge, meter),
        sampling: SAMPLING,
        limits: EPISODE_LIMITS,
        seed: seedOf(this.seed, key),
        signal,
      });
      if (played.clean) return { key, verdict: played.clean.verdict, tokens: played.record.tokens, played };
      this.faults += 1;
      const fault = played.fault ?? new Fault('grader', 'no verdict');
      if (!fault.retry || tryNumber >= MAX_TRIES) throw fault;
    }
  }
}

/** `work` on what `next` yields, in lanes; `next` is asked again whenever a lane is free. */
export async function inLanes<T>(
  lanes: number,
  next: () => T | undefined,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  for (;;) {
    while (running.size < lanes) {
      const item = next();
      if (item === undefined) break;
      const lane = work(item).finally(() => running.delete(lane));
      running.add(lane);
    }
    if (running.size === 0) return;
    await Promise.race(running);
  }
}
