/** The same images for those who build on a registry's base: a folder that `docker build` takes as it is. */
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ROOT } from '../setup/root.mjs';

export interface ContextFile {
  /** Absolute path in the image, which is its path in the folder too. */
  readonly path: string;
  /** A file of this machine, or its content. */
  readonly from: string | Buffer;
}

/** Writes `Dockerfile` (of this folder, by its name) and the files. Nothing else of the folder is touched. */
export async function writeContext(
  folder: string,
  dockerfile: string,
  files: readonly ContextFile[],
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await copyFile(join(ROOT, 'infra/images', dockerfile), join(folder, 'Dockerfile'));
  for (const { path, from } of files) {
    const to = join(folder, path.slice(1));
    await mkdir(dirname(to), { recursive: true });
    if (typeof from === 'string') await copyFile(from, to);
    else await writeFile(to, from);
  }
}
