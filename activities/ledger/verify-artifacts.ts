/** Whether artifacts that rows refer to are there, with the bytes that they had. */
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { recordsOf } from '../../core/batch.js';
import { Fault } from '../../core/faults.js';

/** Reads at once. Hashing is quick; what is bounded is memory. */
const AT_ONCE = 4;

/**
 * `owner: what is wrong` for each artifact that is missing or corrupt; also for the token file, tools and tokenizer that
 * a trajectory names, and the token records that a batch refers to. Throws `Fault('artifacts')` when the store itself cannot be read.
 */
export async function corruptArtifacts(
  artifacts: ArtifactStore,
  references: readonly (readonly [owner: string, digest: Digest])[],
): Promise<readonly string[]> {
  const wrong: string[] = [];
  const shared = new Map<Digest, ReturnType<ArtifactStore['verify']>>();
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let reference = references[next++]; reference; reference = references[next++]) {
      const [owner, digest] = reference;
      const problem = await problemOf(artifacts, digest, shared);
      if (problem !== undefined) wrong.push(`${owner}: ${problem}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return wrong.sort();
}

/** `shared`: states of what many trajectories name; each is read once. */
async function problemOf(
  artifacts: ArtifactStore,
  digest: Digest,
  shared: Map<Digest, ReturnType<ArtifactStore['verify']>>,
): Promise<string | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await artifacts.get(digest);
  } catch (error) {
    if (error instanceof Fault && (error.code === 'missing' || error.code === 'corrupt'))
      return `${digest} is ${error.code}`;
    if (error instanceof Fault && error.code === 'bad_digest') return error.message;
    throw error;
  }
  for (const { key, record } of recordsIn(bytes)) {
    const state = await artifacts.verify(record);
    if (state !== 'ok') return `token record ${record} of ${key} is ${state}`;
  }
  const { tokens, reading = {} } = namedIn(bytes);
  if (tokens) {
    const state = await artifacts.verify(tokens);
    if (state !== 'ok') return `its tokens ${tokens} are ${state}`;
  }
  for (const [what, named] of Object.entries({ tools: reading.tools, 'model files': reading.modelFiles })) {
    if (named === undefined) continue;
    const known = shared.get(named) ?? artifacts.verify(named);
    shared.set(named, known);
    const state = await known;
    if (state !== 'ok') return `its ${what} ${named} are ${state}`;
  }
  return undefined;
}

/** Of a batch; none where the bytes are something else. */
function recordsIn(bytes: Uint8Array): NonNullable<ReturnType<typeof recordsOf>> {
  try {
    return recordsOf(bytes) ?? [];
  } catch (error) {
    if (error instanceof Fault && error.code === 'corrupt') return [];
    throw error;
  }
}

interface Named {
  readonly tokens?: Digest | null;
  readonly reading?: { readonly tools?: Digest; readonly modelFiles?: Digest };
}

/** What a trajectory document names (docs/contracts.md); nothing of everything else. */
function namedIn(bytes: Uint8Array): Named {
  // A document opens with a brace; a batch with the length of its header, of which no real one has that first byte
  // and then parses as JSON.
  if (bytes[0] !== 0x7b) return {};
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Named;
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
