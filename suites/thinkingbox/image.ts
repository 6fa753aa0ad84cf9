/**
 * What the image of a checkout's servers holds: the pinned Python, the servers' code and what runs them. No case, no
 * golden call and no check: those lie in `dataset/`, of which nothing is taken.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { UsageError } from '../../core/faults.js';
import { nativeFile } from './native.js';
import { isPinnedEnvironment } from './python.js';

/** Raised when an image of the same checkout is put together otherwise. */
const RECIPE = 1;
const APP = '/app';
const SERVERS = `${APP}/servers`;
const FRAMEWORK = `${APP}/framework`;
const PACKAGES = `${APP}/packages`;
/** Of ours, beside the servers. */
const RUNNING = ['serve.py', 'reserved.py', 'warm.py', 'mark.py', 'streams.py'];
const RELAY = '../images/relay.py';
/** Folders of a server's package that no session reads. */
const LEFT_OUT = /^(?:tests?|__pycache__|\.git|.*\.egg-info)$/;
const LOAD_MS = 300_000;
const MAX_ANSWER_BYTES = 64 * 2 ** 20;

export interface Checkouts {
  readonly thinkingboxDir: string;
  readonly dataDir: string;
}

/** By name and everything that is in it: one of another revision is another image. */
export async function imageName(suite: string, version: readonly string[]): Promise<string> {
  const digest = createHash('sha256').update([RECIPE, ...version].join('\n'));
  for (const name of [...RUNNING, RELAY]) digest.update(await readFile(nativeFile(name)));
  return `steadfast/${suite.toLowerCase()}:${digest.digest('hex').slice(0, 12)}`;
}

/** A file or folder of the host as it lies inside; undefined for what is not in the image. */
export function insideImage(path: string, { thinkingboxDir, dataDir }: Checkouts): string | undefined {
  const places = [
    [join(dataDir, 'servers'), SERVERS],
    [thinkingboxDir, FRAMEWORK],
  ] as const;
  const [place] = places.filter(([from]) => path.startsWith(`${from}/`));
  return place && `${place[1]}/${relative(place[0], path)}`;
}

export interface ServerFile {
  /** Absolute path inside. */
  readonly path: string;
  /** Absolute path on this machine. */
  readonly from: string;
}

/** The servers' code and what runs it, without Python and its packages. */
export async function serverFiles({ thinkingboxDir, dataDir }: Checkouts): Promise<readonly ServerFile[]> {
  const package_ = join(thinkingboxDir, 'thinkingbox');
  return [
    ...[...RUNNING, RELAY].map((name) => ({ path: `${APP}/${basename(name)}`, from: nativeFile(name) })),
    ...(await filesOf(join(dataDir, 'servers'), SERVERS)),
    { path: `${FRAMEWORK}/thinkingbox/__init__.py`, from: join(package_, '__init__.py') },
    ...(await filesOf(join(package_, 'tools'), `${FRAMEWORK}/thinkingbox/tools`)),
  ];
}

/** Environment of the servers inside, as `pythonEnvironment` is on the host. */
export async function serverEnvironment(dataDir: string): Promise<Readonly<Record<string, string>>> {
  const folder = join(dataDir, 'servers');
  // Cases for the framework's own servers bring none.
  const entries = existsSync(folder) ? await readdir(folder, { withFileTypes: true }) : [];
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('__'));
  const folders = names.map(({ name }) => `${SERVERS}/${name}`).toSorted();
  return {
    LANG: 'C.UTF-8',
    HOME: '/tmp',
    PYTHONPATH: [FRAMEWORK, ...folders, SERVERS, PACKAGES].join(':'),
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUNBUFFERED: '1',
    THINKINGBOX_DATA: APP,
    FASTMCP_LOG_LEVEL: 'WARNING',
    FASTMCP_CHECK_FOR_UPDATES: 'off',
  };
}

const loaded = z.object({
  executable: z.string(),
  version: z.string(),
  stdlib: z.string(),
  packages: z.string(),
  modules: z.array(z.object({ source: z.string(), code: z.string() })),
  problems: z.array(z.string()),
});

export interface ServerImage {
  readonly tag: string;
  readonly python: z.infer<typeof loaded> & { readonly packagesInside: string };
  readonly files: readonly ServerFile[];
  /** Arguments of Python. */
  readonly entrypoint: readonly string[];
  readonly relay: readonly string[];
  /** Programs that could not be started: they work as they do outside, which may be not at all. */
  readonly problems: readonly string[];
}

/**
 * Runs every program up to where it would serve, so that its byte code can go along (into `folder`, which is the
 * caller's). Throws `UsageError` for an interpreter that is not the pinned one.
 */
export async function serverImage(request: {
  readonly tag: string;
  readonly checkouts: Checkouts;
  readonly python: string;
  /** Of Python programs of this checkout. */
  readonly env: Readonly<Record<string, string>>;
  readonly programs: readonly string[];
  readonly folder: string;
}): Promise<ServerImage> {
  const { tag, checkouts, python, env, programs, folder } = request;
  if (!(await isPinnedEnvironment(python))) {
    const fix = 'Leave THINKINGBOX_PYTHON and --python unset and one is made';
    throw new UsageError('python of the image', 'the pinned environment, and nothing beside it', python, fix);
  }
  const args = [nativeFile('loaded.py'), folder, ...programs];
  const options = { env: { ...env }, timeout: LOAD_MS, maxBuffer: MAX_ANSWER_BYTES };
  const running = promisify(execFile)(python, args, options);
  // A server that is not of the known kind serves until its input ends.
  running.child.stdin?.end();
  await running;
  const answer = loaded.parse(JSON.parse(await readFile(join(folder, 'loaded.json'), 'utf8')));
  return {
    tag,
    python: { ...answer, packagesInside: PACKAGES },
    files: await serverFiles(checkouts),
    entrypoint: [`${APP}/serve.py`],
    relay: ['-I', '-S', `${APP}/relay.py`],
    problems: answer.problems,
  };
}

async function filesOf(folder: string, inside: string): Promise<ServerFile[]> {
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && !/\.(?:md|pyc)$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter(
      (path) =>
        !relative(folder, dirname(path))
          .split('/')
          .some((part) => LEFT_OUT.test(part)),
    )
    .map((from) => ({ path: `${inside}/${relative(folder, from)}`, from }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
