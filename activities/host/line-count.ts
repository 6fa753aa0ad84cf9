/** Rows of a JSON Lines file: its lines that are not empty. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** Throws where the file cannot be read. */
export async function lineCount(file: string): Promise<number> {
  let lines = 0;
  for await (const line of createInterface({ input: createReadStream(file, 'utf8') })) {
    if (line.trim() !== '') lines += 1;
  }
  return lines;
}
