/** What a trainer says of itself, as far as the suite has to know it (docs/trainer-contract.md). */
import { type BatchFormat, batchFormatFor } from '../../../core/batch.js';
import { Fault } from '../../../core/faults.js';
import { type PlanSupport, planSupport } from '../../../core/update-settings.js';

export interface Capabilities extends PlanSupport {
  /** Name of the implementation: `embedded`, `torch` ... */
  readonly kind: string;
  readonly build: string;
  /** Token ids are below it. */
  readonly vocabulary: number;
  /** Tokens of one sequence. */
  readonly context: number;
  readonly losses: readonly string[];
  readonly normalisation: readonly string[];
  readonly optimizerRestore: boolean;
  readonly batchByReference: boolean;
  /** In which batches are sent to it. */
  readonly batchFormat: BatchFormat;
  readonly batchInvariant: boolean;
}

/** Throws `Fault('trainer', code: 'bad_capabilities')` that names the field. */
export function readCapabilities(value: Readonly<Record<string, unknown>>): Capabilities {
  const at = (...path: readonly string[]): unknown =>
    path.reduce<unknown>(
      (inner, name) =>
        typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[name] : undefined,
      value,
    );
  const bad = (path: readonly string[], expected: string): Fault =>
    new Fault(
      'trainer',
      `capabilities.${path.join('.')}: expected ${expected}, found ${JSON.stringify(at(...path))}`,
      { code: 'bad_capabilities', retry: false },
    );
  const text = (...path: readonly string[]): string => {
    const found = at(...path);
    if (typeof found === 'string') return found;
    throw bad(path, 'a string');
  };
  const count = (...path: readonly string[]): number => {
    const found = at(...path);
    if (typeof found === 'number' && Number.isInteger(found) && found > 1) return found;
    throw bad(path, 'a whole number above 1');
  };
  const names = (...path: readonly string[]): readonly string[] => {
    const found = at(...path);
    if (Array.isArray(found) && found.every((item) => typeof item === 'string')) return found as string[];
    throw bad(path, 'a list of names');
  };
  return {
    ...planSupport(value),
    kind: text('kind'),
    build: text('build'),
    vocabulary: count('model', 'vocab'),
    context: count('limits', 'context'),
    losses: names('losses'),
    normalisation: names('normalisation'),
    optimizerRestore: at('optimizer', 'restore') === true,
    batchByReference: at('batchByReference') === true,
    batchFormat: batchFormatFor(value),
    batchInvariant: at('sampling', 'batchInvariant') === true,
  };
}
