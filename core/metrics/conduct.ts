/** How episodes went, apart from whether they passed: calls of tools and how many failed, and time. */

/** What one episode did. Null where it was not recorded. */
export interface EpisodeConduct {
  readonly toolCalls: number | null;
  readonly toolErrors: number | null;
  readonly seconds: number | null;
}

/** Over the episodes whose calls were recorded. A failed call is an observation of the agent's, no system error. */
export interface ToolUse {
  readonly episodes: number;
  readonly calls: number;
  readonly errors: number;
  /** Episodes with at least one failed call. */
  readonly episodesWithErrors: number;
}

/** Wall time of the episodes that recorded it, seconds. */
export interface EpisodeTime {
  readonly episodes: number;
  readonly total: number;
  readonly median: number;
  /** 95 of 100 episodes were at most this long. */
  readonly p95: number;
  readonly longest: number;
}

/** Null when no episode recorded its calls. */
export function toolUse(episodes: Iterable<EpisodeConduct>): ToolUse | null {
  const total = { episodes: 0, calls: 0, errors: 0, episodesWithErrors: 0 };
  for (const { toolCalls, toolErrors } of episodes) {
    if (toolCalls === null || toolErrors === null) continue;
    total.episodes += 1;
    total.calls += toolCalls;
    total.errors += toolErrors;
    if (toolErrors > 0) total.episodesWithErrors += 1;
  }
  return total.episodes === 0 ? null : total;
}

/** Null when no episode recorded its time. Quantiles are of the nearest rank. */
export function episodeTime(episodes: Iterable<Pick<EpisodeConduct, 'seconds'>>): EpisodeTime | null {
  const sorted = [...episodes].flatMap(({ seconds }) => (seconds === null ? [] : [seconds]));
  if (sorted.length === 0) return null;
  sorted.sort((a, b) => a - b);
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number;
  return {
    episodes: sorted.length,
    total: sorted.reduce((sum, seconds) => sum + seconds, 0),
    median: rank(0.5),
    p95: rank(0.95),
    longest: rank(1),
  };
}
