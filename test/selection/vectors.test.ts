/** The same pool as the reference pipeline from the same rows: lists byte for byte, aggregates within their bounds. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runSelectCommand, temporaryFolder } from './harness.js';

const vectors = join(import.meta.dirname, '../../../shared/vectors/selection');
const inputs = join(vectors, 'inputs');
const policy = ['--policy', join(inputs, 'policy_a.jsonl'), '--policy', join(inputs, 'policy_b.jsonl')];
const fields = ['--uid-field', 'uid', '--success-field', 'test_result.result'];
const named = [...fields, '--system-error-field', 'is_system_error'];
const recipe = ['--reference', join(inputs, 'reference.jsonl'), '--min-clean-runs', '4'];
const screen = ['--reference-min-clean-runs', '4', '--reference-min-successes', '1'];
const commands = {
  selection_default: [...policy, ...named],
  split_doc: [
    ...policy,
    ...named,
    ...recipe,
    ...screen,
    '--mode',
    'split',
    '--exclude-uids',
    join(inputs, 'exclude.yaml'),
  ],
};
const lists = { selection_default: ['selected.yaml'], split_doc: ['train.yaml', 'test.yaml'] };

function readRows(file: string): Record<string, unknown>[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Asserts equal shape and values; numbers within `bound`, the priority score within 1e-4. */
function expectClose(found: unknown, wanted: unknown, path: string): void {
  if (typeof wanted === 'number') {
    const bound = path.endsWith('.priority_score') ? 1.001e-4 : 1e-6;
    expect(Math.abs((found as number) - wanted), path).toBeLessThan(bound);
  } else if (typeof wanted === 'object' && wanted !== null) {
    expect(Object.keys(found as object), path).toEqual(Object.keys(wanted));
    for (const [key, value] of Object.entries(wanted)) {
      expectClose((found as Record<string, unknown>)[key], value, `${path}.${key}`);
    }
  } else {
    expect(found, path).toBe(wanted);
  }
}

describe.skipIf(!existsSync(vectors))('reference vectors (skipped without ../shared)', () => {
  for (const name of ['selection_default', 'split_doc'] as const) {
    it(`${name}: lists, aggregates and manifest`, async () => {
      const folder = temporaryFolder();
      await runSelectCommand([...commands[name], '--output-dir', folder]);
      for (const list of lists[name]) {
        expect(readFileSync(join(folder, list), 'utf8')).toBe(
          readFileSync(join(vectors, name, list), 'utf8'),
        );
      }
      expectClose(
        readRows(join(folder, 'aggregates.jsonl')),
        readRows(join(vectors, name, 'aggregates.jsonl')),
        name,
      );
      const [found] = readRows(join(folder, 'manifest.json')) as [Record<string, Record<string, unknown>>];
      const [wanted] = readRows(join(vectors, name, 'manifest.json')) as [
        Record<string, Record<string, unknown>>,
      ];
      const { output_sha256: ignored, ...comparable } = wanted;
      expect(found.output_sha256).toMatchObject(
        Object.fromEntries(lists[name].map((list) => [list, ignored?.[list]])),
      );
      for (const [key, value] of Object.entries(comparable)) {
        const entry = { [key]: found[key] };
        // A superset: our summary says more.
        const same = key === 'summary' ? { [key]: { ...found[key], ...value } } : { [key]: value };
        expectClose(entry, same, name);
      }
    });
  }

  it('finds system errors that no option names, and the order of files and rows does not matter', async () => {
    const folder = temporaryFolder();
    const reversed = ['--policy', join(inputs, 'policy_b.jsonl'), '--policy', join(inputs, 'policy_a.jsonl')];
    await runSelectCommand([...reversed, '--output-dir', folder]);
    const wanted = readFileSync(join(vectors, 'selection_default/selected.yaml'), 'utf8');
    expect(readFileSync(join(folder, 'selected.yaml'), 'utf8')).toBe(wanted);
  });
});
