/** The coverage gate for the terminal: what is wrong, the first keys of each kind, and a file with all of them. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Coverage } from '../core/metrics/coverage.js';
import { homeFolder } from '../infra/setup/root.mjs';

const SHOWN_KEYS = 20;

const WRONG = {
  missing: 'missing',
  duplicate: 'duplicate',
  unexpected: 'unexpected',
  systemError: 'system error',
} as const;

/** `keysFile`: where all keys are, when they are more than are shown here. */
export function coverageText(coverage: Coverage, keysFile: string | null): string {
  const head = `${coverage.clean} of ${coverage.expected} expected keys are clean`;
  if (coverage.complete) return `${head}: coverage is complete`;
  const parts = Object.entries(WRONG).flatMap(([kind, name]) => {
    const keys = coverage[kind as keyof typeof WRONG];
    if (keys.length === 0) return [];
    const rest = keys.length - SHOWN_KEYS;
    const more = rest > 0 ? [`  ... and ${rest} more${keysFile === null ? '' : ` in ${keysFile}`}`] : [];
    return [`${name} (${keys.length}):`, ...keys.slice(0, SHOWN_KEYS).map((key) => `  ${key}`), ...more];
  });
  const { missing, unexpected } = coverage;
  const other =
    missing.length > 0 && unexpected.length > 0
      ? ['Keys that nobody expects beside missing ones: are these rows of another list of tasks?']
      : [];
  return [head, ...parts, ...other].join('\n');
}

/** The path of the file with every key that is wrong, `name` in its own name: the one asked for, or one of our own where the terminal cannot hold them all. */
export async function writeKeys(
  coverage: Coverage,
  name: string,
  wanted: string | undefined,
): Promise<string | null> {
  const many = Object.keys(WRONG).some((kind) => coverage[kind as keyof typeof WRONG].length > SHOWN_KEYS);
  if (wanted === undefined && !many) return null;
  const file = wanted ?? path.join(homeFolder(), 'keys', `${name}.tsv`);
  if (wanted === undefined) await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, keyLines(coverage).join(''));
  return file;
}

function keyLines(coverage: Coverage): string[] {
  return Object.entries(WRONG).flatMap(([kind, name]) =>
    coverage[kind as keyof typeof WRONG].map((key) => `${name}\t${key}\n`),
  );
}
