/** What this machine is and has, asked of its driver, its Python and its file systems. */
import os from 'node:os';
import path from 'node:path';
import type { FileDigests, FolderFacts, GpuFacts, HostFacts, HostQuestions } from '../../core/cluster.js';
import { folderFacts } from './folders.js';
import { listGpus } from './gpus.js';
import { HashCache } from './hash-cache.js';
import { lineCount } from './line-count.js';
import { modelFacts } from './model-folder.js';
import { parquetRows } from './parquet-rows.js';
import { proxiesOf } from './proxies.js';
import { installedIn } from './python.js';

export interface FactsOptions {
  readonly host: string;
  /** For digests that were computed once. */
  readonly home: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Never throws for what is wrong on the machine: the answer says it. */
export function machineFacts({ host, home, env = process.env }: FactsOptions) {
  return async (questions: HostQuestions, signal: AbortSignal): Promise<HostFacts> => {
    const startedAt = Date.now();
    const cache = new HashCache(path.join(home, 'model-hashes.json'));
    const [gpus, python, folders, model] = await Promise.all([
      told<readonly GpuFacts[]>([], listGpus(signal)),
      told(
        { packages: {}, files: {} },
        questions.python === null
          ? Promise.resolve({ packages: {}, files: {} })
          : installedIn(questions.python, questions.packages, questions.files, signal),
      ),
      Promise.all(
        questions.folders.map(
          async (name): Promise<[string, FolderFacts]> => [name, await folderFacts(name)],
        ),
      ),
      questions.model && modelFacts(questions.model.folder, questions.model.tokens, cache, signal),
    ]);
    return {
      host,
      machine: os.hostname(),
      startedAt,
      gpus: gpus.value,
      gpuProblem: gpus.problem,
      packages: python.value.packages,
      pythonProblem: python.problem,
      files: python.value.files,
      folders: Object.fromEntries(folders),
      inputs: await digestsOf(questions.inputs, cache, signal),
      rows: await rowsOf(questions.dataSets),
      model,
      proxies: proxiesOf(env),
      endedAt: Date.now(),
    };
  };
}

/** One after the other: they lie on one disk. */
async function digestsOf(
  files: readonly string[],
  cache: HashCache,
  signal: AbortSignal,
): Promise<FileDigests> {
  const digests: [string, string | null][] = [];
  for (const file of files) digests.push([file, (await told('', cache.digest(file, signal))).value || null]);
  await cache.save();
  return Object.fromEntries(digests);
}

async function rowsOf(files: readonly string[]): Promise<Record<string, number | string>> {
  const rows: [string, number | string][] = [];
  for (const file of files) {
    const { value, problem } = await told(0, file.endsWith('.parquet') ? parquetRows(file) : lineCount(file));
    rows.push([file, problem ?? value]);
  }
  return Object.fromEntries(rows);
}

async function told<T>(otherwise: T, asked: Promise<T>): Promise<{ value: T; problem: string | null }> {
  try {
    return { value: await asked, problem: null };
  } catch (error) {
    return { value: otherwise, problem: error instanceof Error ? error.message : String(error) };
  }
}
