/** Settings of the built-in scripted policy: the suite's oracle, with mistakes and delays on demand. */
export interface ScriptedSettings {
  /** Probability that a decision is taken wrongly, in [0, 1]; drawn from the episode's seed. */
  readonly errorRate: number;
  /** Time that a turn takes, ms. */
  readonly turnDelayMs: number;
}
