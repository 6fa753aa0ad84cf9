/** Exit codes of the `steadfast` command (design section 11). A verb sets `process.exitCode`; 0 is the default. */
export const EXIT = {
  /** Done and clean. */
  ok: 0,
  failed: 1,
  /** Wrong usage, configuration or unreadable input. */
  usage: 2,
  /** Incomplete coverage: no score can be shown. */
  incomplete: 3,
  regression: 4,
  /** Detached or interrupted: the run goes on, or can. */
  interrupted: 130,
} as const;
