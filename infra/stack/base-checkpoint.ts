/** The shipped base checkpoint: every file as its maker wrote it, looked at before anything is started. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../../core/faults.js';
import { ROOT } from '../setup/root.mjs';

const FOLDER = join(ROOT, 'native', 'trainer', 'base');
const FIX = 'Run "git checkout native/trainer/base", or make it again with native/trainer/make-base.sh';

/** The folder. Throws `UsageError` for the first file that is missing or not the one that `provenance.json` names. */
export function requireBaseCheckpoint(folder = FOLDER): string {
  const provenance = join(folder, 'provenance.json');
  for (const [name, digest] of Object.entries(filesOf(provenance))) {
    const file = join(folder, name);
    const bytes = read(file);
    const found = createHash('sha256').update(bytes).digest('hex');
    if (found !== digest) {
      throw new UsageError(file, `SHA-256 ${digest}`, `${found} (${bytes.length} bytes)`, FIX);
    }
  }
  return folder;
}

function filesOf(provenance: string): Readonly<Record<string, string>> {
  const text = read(provenance).toString('utf8');
  try {
    const { files } = JSON.parse(text) as { files?: Record<string, string> };
    if (files?.['model.safetensors']) return files;
  } catch {
    // Said below, together with a document that is JSON but something else.
  }
  throw new UsageError(
    provenance,
    'JSON with the digest of each file',
    `${text.length} characters of something else`,
    FIX,
  );
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new UsageError(file, 'a file', 'none', FIX);
    throw error;
  }
}
