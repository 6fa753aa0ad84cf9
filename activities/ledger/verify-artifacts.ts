/** Whether artifacts that rows refer to are there, with the bytes that they had. */
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { Fault } from '../../core/faults.js';

/** Reads at once. Hashing is quick; what is bounded is memory. */
const AT_ONCE = 4;

/**
 * `owner: what is wrong` for each artifact that is missing or corrupt; also for the token file that a trajectory
 * names. Throws `Fault('artifacts')` when the store itself cannot be read.
 */
export async function corruptArtifacts(
  artifacts: ArtifactStore,
  references: readonly (readonly [owner: string, digest: Digest])[],
): Promise<readonly string[]> {
  const wrong: string[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let reference = references[next++]; reference; reference = references[next++]) {
      const [owner, digest] = reference;
      const problem = await problemOf(artifacts, digest);
      if (problem !== undefined) wrong.push(`${owner}: ${problem}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return wrong.sort();
}

async function problemOf(artifacts: ArtifactStore, digest: Digest): Promise<string | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await artifacts.get(digest);
  } catch (error) {
    if (error instanceof Fault && (error.code === 'missing' || error.code === 'corrupt'))
      return `${digest} is ${error.code}`;
    if (error instanceof Fault && error.code === 'bad_digest') return error.message;
    throw error;
  }
  const tokens = tokensOf(bytes);
  if (tokens === undefined) return undefined;
  const state = await artifacts.verify(tokens);
  return state === 'ok' ? undefined : `its tokens ${tokens} are ${state}`;
}

/** The binary that a trajectory document names (docs/contracts.md); undefined for everything else. */
function tokensOf(bytes: Uint8Array): Digest | undefined {
  // A document opens with a brace; a batch with the length of its header, of which no real one has that first byte
  // and then parses as JSON.
  if (bytes[0] !== 0x7b) return undefined;
  try {
    const { tokens } = JSON.parse(new TextDecoder().decode(bytes)) as { tokens?: unknown };
    return typeof tokens === 'string' ? tokens : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
