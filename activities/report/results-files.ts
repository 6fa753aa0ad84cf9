/** Result files of an evaluation that ran elsewhere, streamed: gigabytes of conversations in bounded memory. */
import { ResultSet } from '../../core/results/result-set.js';
import { readResultRow } from '../../core/results/rows.js';
import { forEachLine } from './json-lines.js';

/** Throws `UsageError` for a file that cannot be read and for a row that cannot be understood: file, line, field. */
export async function readResultFiles(files: readonly string[]): Promise<ResultSet> {
  const results = new ResultSet();
  for (const file of files) {
    await forEachLine(file, (line, number) => results.add(readResultRow(line, () => `${file}:${number}`)));
  }
  return results;
}
