/** Version of this program, as `package.json` says it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../infra/setup/root.mjs';

export function programVersion(): string {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
