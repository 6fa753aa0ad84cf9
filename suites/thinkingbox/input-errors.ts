/** What is wrong with a case, in the words of whoever named it. */
import { Fault, UsageError } from '../../core/faults.js';
import { nearestFew } from '../../core/nearest.js';
import { BridgeError, BridgeLost } from './bridge.js';

/** Bad input as `UsageError`; anything else that the bridge says while reading cases is the suite's fault. */
export function asInputError(error: unknown): unknown {
  if (error instanceof BridgeError) {
    const { code, message, details, trace } = error.failure;
    if (code === 'unknown_case')
      return unknownCase(message.replace(/^unknown case /, ''), details?.known ?? []);
    if (code === 'bad_input') {
      return new UsageError(
        details?.place ?? 'case',
        details?.expected ?? 'a readable case',
        details?.found ?? message,
      );
    }
    const fault = new Fault('suite', message, { cause: error });
    if (trace !== undefined) fault.stack = `${fault.name}: ${message}\n${trace}`;
    return fault;
  }
  if (!(error instanceof BridgeLost)) return error;
  // The bridge is gone: a new one may do better.
  return new Fault('suite', error.message, { cause: error, retry: true });
}

export function unknownCase(id: string, known: readonly string[]): UsageError {
  const near = nearestFew(id, known, 3);
  const fix = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : undefined;
  return new UsageError('case id', 'a case of the checkout (file.py:test_name)', `"${id}"`, fix);
}
