/**
 * Where the episodes of one campaign wait for a sandbox worker, and before whom.
 *
 * Levels are strict: while an episode of a higher one waits, none of a lower one is begun. Among those of one level
 * every campaign gets its share, by its weight. So that a lower level never stands still behind a long probe or run
 * after run, one attempt of each shard at a time waits on the highest level, where it weighs little.
 */
import type { EpisodeRef } from '../core/orchestration.js';
import type { EpisodeSummary } from '../core/outcome.js';
import { type Priority, poolQueue, usualPriority } from '../core/sharing.js';
import { QUEUES, SHARING } from '../temporal.config.js';
import type { Control } from './control.js';
import { episodesOf } from './proxies.js';

/** Temporal's bound on a fairness key, in bytes; ids are ASCII. */
const LONGEST_KEY = 64;

export class EpisodeQueue {
  /** True while one that waits, or is played, took the place on the highest level. */
  #ahead = false;

  constructor(
    private readonly campaign: string,
    private readonly control: Pick<Control, 'place'>,
  ) {}

  /** One try. */
  async runEpisode(ref: EpisodeRef): Promise<EpisodeSummary> {
    const own = this.#level();
    const ahead = !this.#ahead && SHARING[own].level !== SHARING.high.level;
    if (ahead) this.#ahead = true;
    try {
      return await this.#on(ahead ? SHARING.high.level : SHARING[own].level).runEpisode(ref);
    } finally {
      if (ahead) this.#ahead = false;
    }
  }

  /** Before the first episode, by a worker that will play them. */
  proveParity(): Promise<unknown> {
    return this.#on(SHARING.high.level).proveParity(this.campaign);
  }

  #level(): Priority {
    return this.control.place.priority ?? usualPriority(this.campaign);
  }

  #on(level: number) {
    return episodesOf({
      taskQueue: poolQueue(QUEUES.sandbox, this.control.place.pool),
      priority: {
        priorityKey: level,
        fairnessKey: this.campaign.slice(-LONGEST_KEY),
        fairnessWeight: SHARING[this.#level()].weight,
      },
    });
  }
}
