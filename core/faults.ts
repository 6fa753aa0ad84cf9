/**
 * Faults: everything that goes wrong and is not the agent's doing, typed by the boundary it crossed.
 *
 * A fault never becomes a score. One table maps each kind to "try again" or "do not"; code in the middle
 * throws plain errors or a `Fault`, and the edge (`runEpisode`, a trainer activity, the command line) classifies.
 */

/** The boundary that a fault crossed. The first seven can end a try as `system_error`. */
export const FAULT_KINDS = {
  deadline: 'a wall clock ran out, whoever used the time',
  sandbox: 'the sandbox could not start, broke, or lost its session',
  policy: 'the policy endpoint was down, timed out, overloaded, or answered something unreadable',
  user: 'the simulated user was unavailable or unreadable',
  judge: 'the judge was unavailable or unreadable',
  grader: 'the check raised something other than an assertion, or gave no verdict',
  suite: 'the task itself could not be loaded or initialised',
  trainer: 'the trainer was lost, or refused an operation',
  artifacts: 'the artifact store could not read or write',
  ledger: 'the ledger could not read or write',
  cancelled: 'the run was stopped while this was in flight',
} as const;

export type FaultKind = keyof typeof FAULT_KINDS;

export interface FaultOptions {
  readonly cause?: unknown;
  /** Overrides the table's answer, e.g. a policy endpoint that says 401: another try cannot help. */
  readonly retry?: boolean;
  /** True when the fault fell inside one of the agent's own tool calls (reported apart). */
  readonly duringToolCall?: boolean;
  /** Machine-readable detail within the kind: `weights_unavailable`, `stale_base`, `rate_limited` ... */
  readonly code?: string;
  /** Figures that belong to the code, by name, for whoever records them. */
  readonly details?: Readonly<Record<string, number>>;
}

const RETRY_BY_DEFAULT: Readonly<Record<FaultKind, boolean>> = {
  deadline: true,
  sandbox: true,
  policy: true,
  user: true,
  judge: true,
  grader: true,
  suite: false,
  trainer: true,
  artifacts: true,
  ledger: true,
  cancelled: false,
};

/** An infrastructure fault. `retry` says whether another try of the same thing can help. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly kind: FaultKind;
  readonly retry: boolean;
  readonly duringToolCall: boolean;
  readonly code: string | undefined;
  readonly details: Readonly<Record<string, number>>;

  constructor(kind: FaultKind, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.retry = options.retry ?? RETRY_BY_DEFAULT[kind];
    this.duringToolCall = options.duringToolCall ?? false;
    this.code = options.code;
    this.details = options.details ?? {};
  }
}

/** A fault as rows and documents keep it. */
export interface FaultRecord {
  readonly kind: FaultKind;
  readonly code: string | null;
  readonly message: string;
  readonly stack: string | null;
  readonly duringToolCall: boolean;
}

/**
 * Bad input by the person or program that called us: wrong usage, configuration or unreadable input. Exit code 2.
 * `place` names the option, file:line or key; `expected` and `found` say the rest.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  constructor(
    readonly place: string,
    readonly expected: string,
    readonly found: string,
    readonly fix?: string,
  ) {
    super(`${place}: expected ${expected}, found ${found}${fix ? `. ${fix}` : ''}`);
  }
}

/** Any thrown value as a `Fault`; an existing fault passes through unchanged. */
export function asFault(error: unknown, kind: FaultKind, options: FaultOptions = {}): Fault {
  if (error instanceof Fault) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new Fault(kind, message, { cause: error, ...options });
}
