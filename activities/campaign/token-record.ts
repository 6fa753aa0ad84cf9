/**
 * The token record of an episode: the only copy of the tokens that it is trained on, once its batch is an index.
 * One that is gone is named with its episode.
 */
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { Fault } from '../../core/faults.js';
import type { EpisodeTokens } from '../../core/policy.js';
import { decodeTokens } from '../../core/tokens.js';

/** Throws `Fault('artifacts', code: 'missing' | 'corrupt')` that names the episode, the file and what can be done. */
export async function readTokenRecord(
  artifacts: ArtifactStore,
  key: string,
  record: Digest,
): Promise<EpisodeTokens> {
  try {
    return decodeTokens(await artifacts.get(record));
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'artifacts' || error.retry) throw error;
    throw new Fault('artifacts', lostRecord(key, record, artifacts.path(record), error.message), {
      code: error.code ?? 'corrupt',
      retry: false,
      cause: error,
    });
  }
}

function lostRecord(key: string, record: Digest, path: string, found: string): string {
  return [
    `token record ${record} of episode ${key} cannot be used: ${found.includes(path) ? found : `${found} (${path})`}.`,
    'It is the only copy of these tokens: put the file back from a copy of the artifact folder, and the step goes on.',
    'Without one, a step that is not updated yet can be skipped, and weights of later steps come from checkpoints that were saved after this one alone.',
  ].join(' ');
}
