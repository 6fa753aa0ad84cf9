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
    throw new Fault('artifacts', lostRecord(key, artifacts.path(record), error.message), {
      code: error.code ?? 'corrupt',
      retry: false,
      cause: error,
    });
  }
}

/** Short: what a run that waits says is cut at 500 characters. */
function lostRecord(key: string, path: string, found: string): string {
  return [
    `the token record of episode ${key} cannot be used: ${found.includes(path) ? found : `${found} (${path})`}.`,
    'Put the file back from a copy of the artifact folder.',
    'Without one: skip a step that is not updated yet; else only later checkpoints are of use.',
  ].join(' ');
}
