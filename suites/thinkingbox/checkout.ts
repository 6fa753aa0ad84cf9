/** The two checkouts that a ThinkingBox suite runs on: where they are, and which revision they must have. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { UsageError } from '../../core/faults.js';

const run = promisify(execFile);

export interface Checkout {
  readonly dir: string;
  /** Commit, 40 hex digits. */
  readonly revision: string;
}

interface Pinned {
  readonly repository: string;
  /** A file or folder without which this is not the checkout. */
  readonly landmark: string;
  readonly revision: string;
  readonly name: string;
}

/** ThinkingBox-Bench v1.0, and the framework that it was published with. */
export const PINNED = {
  thinkingbox: {
    repository: 'https://github.com/microsoft/thinkingbox',
    landmark: 'thinkingbox/common/testrunner.py',
    revision: 'dafead8aaf97cc879d5d881fdc75bda6f543198f',
    name: 'the framework of ThinkingBox-Bench v1.0',
  },
  data: {
    repository: 'https://github.com/microsoft/thinkingbox-data',
    landmark: 'servers/servers.yaml',
    revision: 'fcaba4c1a9debec42fda7f15bf29fe6d6b46c431',
    name: 'tag thinkingbox-bench-v1.0',
  },
} as const satisfies Record<string, Pinned>;

/**
 * The checkout in `dir`, clean and at the pinned revision, or as `accepted` says. `place` is the option or variable that
 * named it. Throws `UsageError` for a missing folder, another project, another revision, or changed files.
 */
export async function checkCheckout(
  dir: string,
  which: keyof typeof PINNED,
  place: string,
  accepted?: string,
): Promise<Checkout> {
  const pinned: Pinned = PINNED[which];
  if (accepted !== undefined) return checkAccepted(dir, which, place, accepted);
  const clone = `Get it with: git clone ${pinned.repository} && git -C ${pinned.repository.split('/').at(-1)} checkout ${pinned.revision}`;
  if (!(await exists(dir))) throw new UsageError(place, 'a folder', `no folder ${dir}`, clone);
  if (!(await exists(join(dir, pinned.landmark)))) {
    throw new UsageError(
      place,
      `a checkout of ${pinned.repository}`,
      `${dir} without ${pinned.landmark}`,
      clone,
    );
  }
  const revision = await git(dir, place, ['rev-parse', 'HEAD']);
  if (revision !== pinned.revision) {
    throw new UsageError(
      `${place} (${dir})`,
      `revision ${pinned.revision} (${pinned.name})`,
      revision,
      `Run: git -C ${dir} checkout ${pinned.revision}, or accept it with \`steadfast suite add thinkingbox … --accept-revision\`: its results are not comparable with published ones`,
    );
  }
  const changed = await git(dir, place, ['status', '--porcelain', '--untracked-files=no']);
  if (changed !== '') {
    const files = changed.split('\n');
    throw new UsageError(
      `${place} (${dir})`,
      'a clean checkout',
      `${files.length} changed file(s), first "${files[0]?.trim()}"`,
    );
  }
  return { dir, revision };
}

/** The pinned revision where `dir` has it, else what `accepted` must be: a digest of the files that count. */
export async function revisionOf(dir: string, which: keyof typeof PINNED, place: string): Promise<string> {
  try {
    return (await checkCheckout(dir, which, place)).revision;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return filesDigest(dir, which, place);
  }
}

async function checkAccepted(
  dir: string,
  which: keyof typeof PINNED,
  place: string,
  accepted: string,
): Promise<Checkout> {
  const revision = await revisionOf(dir, which, place);
  if (revision === accepted) return { dir, revision };
  const again = 'Look at what has changed, then run `steadfast suite add … --accept-revision` again';
  throw new UsageError(`${place} (${dir})`, `files as they were accepted (${accepted})`, revision, again);
}

/** Folders of a checkout whose files decide what a suite is. */
const COUNTING = { thinkingbox: ['thinkingbox'], data: ['dataset', 'servers'] } as const;

/** Over names and contents. Throws `UsageError` for a folder that holds none of them. */
async function filesDigest(dir: string, which: keyof typeof PINNED, place: string): Promise<string> {
  const needed = which === 'data' ? 'dataset/test_case' : PINNED.thinkingbox.landmark;
  if (!(await exists(join(dir, needed)))) throw new UsageError(place, `a folder with ${needed}`, dir);
  const digest = createHash('sha256');
  for (const folder of COUNTING[which]) {
    const entries = await readdir(join(dir, folder), { recursive: true, withFileTypes: true }).catch(
      () => [],
    );
    const files = entries
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('__pycache__'))
      .map((entry) => join(entry.parentPath, entry.name));
    for (const file of files.toSorted()) {
      digest
        .update(`${relative(dir, file)}\0`)
        .update(await readFile(file))
        .update('\0');
    }
  }
  return `files:${digest.digest('hex')}`;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function git(dir: string, place: string, args: readonly string[]): Promise<string> {
  try {
    // A checkout of another user is read, never written: git's ownership check has nothing to protect here.
    const { stdout } = await run(
      'git',
      ['-c', 'safe.directory=*', '--no-optional-locks', '-C', dir, ...args],
      {
        maxBuffer: 16 * 1024 * 1024,
      },
    );
    return stdout.trimEnd();
  } catch (error) {
    const found = error instanceof Error ? error.message.trim() : String(error);
    throw new UsageError(`${place} (${dir})`, 'a git checkout whose revision can be read', found);
  }
}
