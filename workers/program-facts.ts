/** The program as a worker runs it: version, revision of its checkout, digest of its code, versions of its packages. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ProgramFacts } from '../core/reproducibility.js';
import { ROOT } from '../infra/setup/root.mjs';
import { typescriptDigest } from '../infra/stack/code-digest.js';

const run = promisify(execFile);
const GIT_MS = 10_000;

/** Asked once a process: what runs does not change under it. */
export function programFacts(): () => Promise<ProgramFacts> {
  let known: Promise<ProgramFacts> | undefined;
  return () => {
    known ??= look();
    return known;
  };
}

async function look(): Promise<ProgramFacts> {
  const { version, dependencies } = packageJson(join(ROOT, 'package.json'));
  const packages = Object.keys(dependencies ?? {}).flatMap((name) => {
    const installed = versionOf(name);
    return installed === undefined ? [] : [[name, installed]];
  });
  return {
    version,
    revision: await revision(),
    code: codeDigest(),
    runtime: {
      node: process.versions.node,
      platform: `${os.platform()} ${os.release()} ${os.arch()}`,
      cpu: os.cpus()[0]?.model ?? 'unknown',
    },
    packages: { ...Object.fromEntries(packages), ...pinnedPython() },
  };
}

function packageJson(file: string) {
  return JSON.parse(readFileSync(file, 'utf8')) as {
    version: string;
    dependencies?: Record<string, string>;
  };
}

/** Undefined for an optional package that is not installed. */
function versionOf(name: string): string | undefined {
  return whereThere(() => packageJson(join(ROOT, 'node_modules', name, 'package.json')).version);
}

/** What set-up installs for the embedded trainer. */
function pinnedPython(): Record<string, string> {
  const text = whereThere(() => readFileSync(join(ROOT, 'native/trainer/requirements.txt'), 'utf8')) ?? '';
  return Object.fromEntries(
    [...text.matchAll(/^([\w.-]+)==(\S+)/gm)].map(([, name, version]) => [`python:${name}`, version!]),
  );
}

/** Null where the sources themselves run. */
function codeDigest(): string | null {
  return whereThere(typescriptDigest) ?? null;
}

function whereThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function revision(): Promise<ProgramFacts['revision']> {
  const built = builtFrom(process.env.STEADFAST_REVISION);
  if (built !== undefined) return built;
  try {
    const git = async (...args: string[]) =>
      (await run('git', ['-C', ROOT, ...args], { timeout: GIT_MS })).stdout.trim();
    const commit = await git('rev-parse', 'HEAD');
    return { commit, changed: (await git('status', '--porcelain', '--untracked-files=no')) !== '' };
  } catch {
    // No checkout, no git, or one that takes too long: the code's digest says what ran all the same.
    return null;
  }
}

/** What an image says that it was built from: a commit, with `-dirty` where the checkout had changes. */
function builtFrom(text: string | undefined): ProgramFacts['revision'] | undefined {
  const [, commit, changed] = /^([0-9a-f]{40})(-dirty)?$/.exec(text ?? '') ?? [];
  return commit === undefined ? undefined : { commit, changed: changed !== undefined };
}
