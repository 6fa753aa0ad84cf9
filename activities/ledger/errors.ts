/** Errors of PostgreSQL and of the way to it, as `Fault('ledger')`: what happened, and whether trying again helps. */
import { Fault } from '../../core/faults.js';

/** Why a statement failed; the codes of the ledger's faults. */
export type LedgerCode =
  | 'unreachable'
  | 'busy'
  | 'timeout'
  | 'disk_full'
  | 'constraint'
  | 'not_found'
  | 'conflict'
  | 'schema'
  | 'refused'
  | 'bad_value'
  | 'failed';

const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
]);

/** First match decides; a SQLSTATE class is its first two characters. */
const BY_SQLSTATE: readonly (readonly [RegExp, LedgerCode, boolean, string])[] = [
  [/^(08|57P0|53300)/, 'unreachable', true, 'the database does not answer'],
  [/^(40|55P03)/, 'busy', true, 'the database was busy'],
  [/^57014/, 'timeout', true, 'the database took too long'],
  [/^(53100|58030)/, 'disk_full', true, "the database's disk is full or broken"],
  [/^SF404/, 'not_found', false, 'not in the ledger'],
  [/^SF409/, 'conflict', true, 'somebody else was first'],
  [/^23/, 'constraint', false, 'the database refused a row'],
  [/^(42P01|42883|42703|3F000)/, 'schema', false, 'the database does not have the schema of this version'],
  [/^(28|3D000|42501)/, 'refused', false, 'the database refused us'],
  [/^22/, 'bad_value', false, 'the database cannot store a value'],
];

/** `what` names the write or read in words, e.g. `begin try`. A `Fault` passes through unchanged. */
export function ledgerFault(error: unknown, what: string): Fault {
  if (error instanceof Fault) return error;
  const { code = '', message, detail } = parts(error);
  const said = detail ? `${message} (${detail})` : message;
  if (isConnectionLoss(error)) {
    return new Fault('ledger', `${what}: the database does not answer: ${said}`, {
      cause: error,
      code: 'unreachable',
    });
  }
  const [, kind, retry, words] = BY_SQLSTATE.find(([pattern]) => pattern.test(code)) ?? OTHER;
  return new Fault('ledger', `${what}: ${words}: ${said}`, { cause: error, code: kind, retry });
}

const OTHER = [/^/, 'failed', true, 'the database failed'] as const;

/** True when the statement may not have been run, or its answer was lost: the connection is at fault. */
export function isConnectionLoss(error: unknown): boolean {
  const { code = '', message } = parts(error);
  if (NETWORK.has(code) || /^(08|57P0)/.test(code)) return true;
  // pg reports a closed socket, and its own connection timeout, by message only.
  return (
    code === '' &&
    /connection terminated|timeout exceeded when trying to connect|not queryable/i.test(message)
  );
}

function parts(error: unknown): { code?: string; message: string; detail?: string } {
  if (!(error instanceof Error)) return { message: String(error) };
  // Of several addresses of one host, each refused: the first says it.
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const { code, detail } = inner as { code?: string; detail?: string };
  return {
    message: inner.message,
    ...(code === undefined ? {} : { code }),
    ...(detail === undefined ? {} : { detail }),
  };
}
