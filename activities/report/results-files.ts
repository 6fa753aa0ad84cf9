/** Result files of an evaluation that ran elsewhere, streamed: gigabytes of conversations in bounded memory. */
import { ResultSet } from '../../core/results/result-set.js';
import { readResultRow } from '../../core/results/rows.js';
import { type FileFacts, forEachLine } from './json-lines.js';

export interface ReadResults {
  readonly results: ResultSet;
  /** In the order given. */
  readonly files: readonly (FileFacts & { readonly file: string })[];
}

/** Throws `UsageError` for a file that cannot be read and for a row that cannot be understood: file, line, field. */
export async function readResultFiles(files: readonly string[]): Promise<ReadResults> {
  const results = new ResultSet();
  const facts: (FileFacts & { file: string })[] = [];
  for (const file of files) {
    const read = await forEachLine(file, (text, line) => {
      results.add({ ...readResultRow(text, () => `${file}:${line}`), file, line });
    });
    facts.push({ file, ...read });
  }
  return { results, files: facts };
}
