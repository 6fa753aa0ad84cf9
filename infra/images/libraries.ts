/** The shared libraries that programs of this machine are loaded with: what `ldd` says. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { UsageError } from '../../core/faults.js';

/** Absolute paths where the loader looks for them, of programs and of libraries. Throws `UsageError` when one is missing here. */
export async function librariesOf(files: readonly string[]): Promise<readonly string[]> {
  const options = { env: { PATH: process.env.PATH, LC_ALL: 'C' }, maxBuffer: 2 ** 24 };
  const { stdout } = await promisify(execFile)('ldd', [...files], options);
  return readLdd(stdout, files[0] ?? 'nothing');
}

/** Lines are `name => /path (address)`, `/loader (address)`, `name => not found`, or the kernel's own without a path. */
export function readLdd(text: string, program: string): readonly string[] {
  if (/=> not found/.test(text)) {
    throw new UsageError(`libraries of ${program}`, 'all of them on this machine', text.trim());
  }
  const paths = [...text.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x[0-9a-f]+\)$/gm)].map(([, path]) => path!);
  return [...new Set(paths)].sort();
}
