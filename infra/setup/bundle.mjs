/** The workflow bundle: what a worker loads into Temporal's sandbox. Made again only when one of its inputs changed. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readJson, sha256, writeAtomic } from './files.mjs';

const ENTRY = 'workflows/index.ts';
/** Modules of interceptors that run inside the sandbox, relative to `dist/`. Used when they exist. */
const INTERCEPTORS = ['workflows/interceptors.js'];
const LOCK = 'package-lock.json';

/**
 * Writes `dist/workflow-bundle.js` when needed; false when it is up to date or there are no workflows yet.
 * Throws an Error that names the offending module when a workflow imports something unsafe.
 * @param {string} root @param {string} sources digest of all sources, whatever workflows reach of them @param {(line: string) => void} log
 */
export async function bundleWorkflows(root, sources, log) {
  const dist = path.join(root, 'dist');
  if (!existsSync(path.join(root, ENTRY))) return false;
  const output = path.join(dist, 'workflow-bundle.js');
  const stampFile = path.join(dist, '.bundle.json');
  const stamp = existsSync(output) ? readJson(stampFile) : undefined;
  // What workflows reach is asked of esbuild, which costs every command 0.4 CPU-s; not while nothing at all has changed.
  const lock = path.join(root, LOCK);
  const all = sha256(sources, existsSync(lock) ? readFileSync(lock) : '');
  if (stamp?.all === all) return false;
  const inputs = await inputDigest(root);
  if (stamp?.inputs === inputs) {
    writeAtomic(stampFile, JSON.stringify({ all, inputs }));
    return false;
  }

  const { bundleWorkflowCode } = await import('@temporalio/worker');
  /** @type {string[]} */
  const complaints = [];
  /** @type {import('@temporalio/worker').Logger} */
  const logger = {
    log: (_level, message) => complaints.push(message),
    trace: () => {},
    debug: () => {},
    info: () => {},
    warn: (message) => complaints.push(message),
    error: (message) => complaints.push(message),
  };
  let code;
  try {
    ({ code } = await bundleWorkflowCode({
      workflowsPath: path.join(dist, 'workflows', 'index.js'),
      workflowInterceptorModules: INTERCEPTORS.map((file) => path.join(dist, file)).filter(existsSync),
      logger,
    }));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(['the workflow bundle could not be made', reason, ...complaints].join('\n'));
  }
  writeAtomic(output, code);
  writeAtomic(stampFile, JSON.stringify({ all, inputs }));
  log(`bundled the workflows (${Math.round(code.length / 1024)} KiB)`);
  return true;
}

/**
 * Digest over every source that the workflows reach and the versions of the packages they import.
 * @param {string} root
 */
async function inputDigest(root) {
  const esbuild = await import('esbuild');
  const interceptors = INTERCEPTORS.map((file) => file.replace(/\.js$/, '.ts'));
  const entries = [ENTRY, ...interceptors].filter((file) => existsSync(path.join(root, file)));
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: 'dist',
    bundle: true,
    write: false,
    metafile: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  });
  // As in build.mjs: nothing of it stays beside this process.
  await esbuild.stop();
  const sources = Object.keys(result.metafile.inputs).sort();
  const packages = new Set(
    Object.values(result.metafile.inputs)
      .flatMap((input) => input.imports)
      .filter((item) => item.external)
      .map((item) => item.path),
  );
  const lock = readJson(path.join(root, LOCK))?.packages ?? {};
  const versions = ['@temporalio/worker', ...[...packages].sort()].map(
    (name) => `${name}@${lock[`node_modules/${name}`]?.version ?? ''}`,
  );
  return sha256(
    ...sources.flatMap((source) => [source, readFileSync(path.join(root, source))]),
    versions.join(' '),
  );
}
