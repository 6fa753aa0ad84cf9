/** Digests of the code that services run, so that `up` restarts those whose code has changed and no others. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../setup/files.mjs';
import { ROOT } from '../setup/root.mjs';

/** Of everything in `dist/`, from the stamps that the build leaves there. */
export function typescriptDigest(): string {
  const stamp = JSON.parse(readFileSync(join(ROOT, 'dist', '.build.json'), 'utf8')) as {
    files: Record<string, { hash: string }>;
  };
  return sha256(...Object.entries(stamp.files).map(([file, { hash }]) => `${file} ${hash}`));
}

/** Of the trainer's sources and its base checkpoint (by size and time: it is some megabytes). */
export function trainerDigest(): string {
  const folder = join(ROOT, 'native', 'trainer');
  const parts: string[] = [];
  for (const name of ['steadfast_protocol', 'steadfast_trainer']) {
    for (const entry of readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })) {
      if (entry.endsWith('.py'))
        parts.push(`${name}/${entry}`, readFileSync(join(folder, name, entry), 'utf8'));
    }
  }
  const base = join(folder, 'base');
  for (const entry of existsSync(base) ? readdirSync(base) : []) {
    const { size, mtimeMs } = statSync(join(base, entry));
    parts.push(`${entry} ${size} ${mtimeMs}`);
  }
  return sha256(...parts.sort());
}
