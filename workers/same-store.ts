/**
 * Workers on several hosts need one artifact store. The ledger knows its id, and the folder has it in a file: a worker
 * that was given another folder, or whose mount is missing, is refused before it takes any work, since what it wrote
 * there could be read by nobody else.
 */
import { join } from 'node:path';
import { createLocalArtifacts } from '../activities/artifacts/local.js';
import { ensureStoreId, readStoreId, requireWritable, STORE_ID } from '../activities/artifacts/store-id.js';
import type { StoreClaims } from '../activities/ledger/artifact-store.js';
import { UsageError } from '../core/faults.js';
import { migrationNames } from '../infra/migrate.js';
import type { WorkerEnvironment } from './environment.js';

/**
 * Throws `UsageError` for another store, or a ledger without the schema of this version; `Fault('artifacts')` for a folder
 * that cannot be read or written.
 */
export async function requireSameStore(
  claims: StoreClaims,
  { artifacts: folder, host }: Pick<WorkerEnvironment, 'artifacts' | 'host'>,
): Promise<void> {
  await requireSchema(claims);
  const known = await claims.current();
  // The file comes before the row, so that who finds the row finds the file.
  const here = (await readStoreId(folder)) ?? (await missingId(claims, known?.id, folder));
  const store = known ?? (await claims.claim({ id: here ?? '', host, folder }));
  if (here === store.id) return requireWritable(folder);
  throw new UsageError(
    'STEADFAST_ARTIFACTS',
    `the artifact store of this ledger (${store.id}, first seen as ${store.folder} on ${store.host})`,
    here === undefined ? `${folder}, which is none` : `${folder}, which is another (${here})`,
    `Mount that folder on this host. If it is lost for good: echo ${store.id} > ${join(folder, STORE_ID)}`,
  );
}

/** Of a newer program it may be: what that one has added is not asked for here. */
async function requireSchema(claims: Pick<StoreClaims, 'migrations'>): Promise<void> {
  const seen = new Set(await claims.migrations());
  const missing = (await migrationNames()).filter((name) => !seen.has(name));
  if (missing.length === 0) return;
  throw new UsageError(
    'DATABASE_URL',
    'a ledger with the schema of this version',
    seen.size === 0 ? 'a database without one' : `one without ${missing.join(', ')}`,
    'Run once: steadfast ledger migrate',
  );
}

/** A folder without the file: a new store where the ledger knows none; else only one that holds what the ledger has. */
async function missingId(
  claims: StoreClaims,
  known: string | undefined,
  folder: string,
): Promise<string | undefined> {
  if (known === undefined) return ensureStoreId(folder);
  const store = createLocalArtifacts(folder);
  const newest = await claims.newest();
  const held = await Promise.all(newest.map((digest) => store.has(digest as `sha256:${string}`)));
  return held.some(Boolean) ? ensureStoreId(folder, known) : undefined;
}
