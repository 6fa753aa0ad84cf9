/** Where an episode is, as its heartbeats carry it. */

/** Details of one heartbeat. `tokens` of the turn in progress; 0 until the policy streams some. */
export interface EpisodeHeartbeat {
  /** From 1; 0 before the first. */
  readonly turn: number;
  readonly tokens: number;
}

export class EpisodeProgress {
  private at: EpisodeHeartbeat = { turn: 0, tokens: 0 };

  turn(turn: number): void {
    this.at = { turn, tokens: 0 };
  }

  tokens(tokens: number): void {
    this.at = { ...this.at, tokens };
  }

  now(): EpisodeHeartbeat {
    return this.at;
  }
}
