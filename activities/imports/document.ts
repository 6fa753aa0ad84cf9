/** The trajectory document of an imported row (docs/contracts.md): what the row says, and where it was read. */

import { NO_USAGE, policyUsage } from '../../core/metrics/usage.js';
import type { Usage } from '../../core/outcome.js';
import type { ImportedRow } from '../../core/results/imported-row.js';

export interface ImportedFrom {
  /** Base name of the file. */
  readonly file: string;
  readonly line: number;
  /** SHA-256 of the whole file, hexadecimal. */
  readonly sha256: string;
}

/** Bytes for the artifact store. The final state is in it only as the digest that the ledger holds. */
export function importedDocument(
  key: string,
  domain: string,
  read: ImportedRow,
  from: ImportedFrom,
): Uint8Array {
  const { row, messages, verdict, termination, fault } = read;
  const document = {
    format: 1,
    key,
    task: { id: row.taskId, domain, template: row.taskId },
    imported: from,
    messages,
    turns: [],
    termination,
    /** The row's own word for why it ended. */
    ending: row.ending,
    verdict,
    fault: fault && { ...fault, duringToolCall: false },
    effects: null,
    expected: null,
    usage: usageOfRow(read) ?? NO_USAGE,
    weightVersion: null,
    tokens: null,
  };
  return new TextEncoder().encode(JSON.stringify(document));
}

/** Null where the row has no token counts: unknown is not zero. */
export function usageOfRow({ row: { tokens } }: ImportedRow): Usage | null {
  return tokens === null ? null : policyUsage(tokens);
}
