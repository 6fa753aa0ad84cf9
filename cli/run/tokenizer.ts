/** The tokenizer of a model outside the trainer, on its way from a folder of this machine to the workers. */
import { readTokenizer } from '../../activities/policy/tokenizer-folder.js';
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { UsageError } from '../../core/faults.js';

/** Writes it to the store. Throws `UsageError` when the folder has changed since the campaign was resolved. */
export async function storeTokenizer(
  artifacts: ArtifactStore,
  folder: string,
  wanted: Digest,
): Promise<void> {
  const { digest, bytes } = await readTokenizer(folder);
  if (digest !== wanted)
    throw new UsageError(`tokenizer ${folder}`, `the files with digest ${wanted}`, digest);
  await artifacts.put(bytes);
}
