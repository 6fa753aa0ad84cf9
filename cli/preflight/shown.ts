/** What a dry run may be asked to print alone. */

/** All, or one text that can be compared with another run's. */
export const SHOWN = ['all', 'verl', 'settings', 'config'] as const;

export interface DryRunOptions {
  readonly json?: boolean;
  readonly show?: (typeof SHOWN)[number];
}
