/** Lines of a large text file, one at a time, in memory bounded by the longest line. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { UsageError } from '../../core/faults.js';

const NEWLINE = 0x0a;
const CHUNK_BYTES = 1 << 20;
/** Far above any real row; a file without line ends must not fill the memory. */
const MAX_LINE_BYTES = 256 << 20;

/** Appears in decoded text when bytes were not UTF-8 (or, legally, when the text holds U+FFFD itself). */
const REPLACEMENT = '\ufffd';

export interface FileFacts {
  /** SHA-256 of the whole file, hexadecimal. */
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * Calls `onLine` for every line that is not blank; `number` counts all lines from 1. Throws `UsageError` for a file
 * that cannot be read, a line that is not UTF-8, or one above 256 MiB, naming file and line.
 */
export async function forEachLine(
  file: string,
  onLine: (line: string, number: number) => void,
): Promise<FileFacts> {
  const hash = createHash('sha256');
  const strict = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let bytes = 0;
  /** Parts of a line whose end has not been read yet. */
  let open: Buffer[] = [];
  let openBytes = 0;

  const emit = (raw: Buffer) => {
    number += 1;
    const line = raw.toString('utf8');
    if (line.includes(REPLACEMENT)) checkUtf8(strict, raw, `${file}:${number}`);
    if (line.trim() !== '') onLine(line, number);
  };

  try {
    for await (const chunk of createReadStream(file, {
      highWaterMark: CHUNK_BYTES,
    }) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      bytes += chunk.length;
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        const piece = chunk.subarray(start, end);
        emit(open.length === 0 ? piece : Buffer.concat([...open, piece]));
        if (open.length > 0) open = [];
        openBytes = 0;
        start = end + 1;
      }
      if (start === chunk.length) continue;
      open.push(chunk.subarray(start));
      openBytes += chunk.length - start;
      if (openBytes > MAX_LINE_BYTES) {
        throw new UsageError(
          `${file}:${number + 1}`,
          `a line of at most ${MAX_LINE_BYTES} bytes`,
          'a longer one',
        );
      }
    }
  } catch (error) {
    throw readable(error, file);
  }
  if (open.length > 0) emit(Buffer.concat(open));
  return { sha256: hash.digest('hex'), bytes };
}

/** An error of the file system as one that names the file; anything else unchanged. */
export function readable(error: unknown, file: string): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (!(error instanceof Error) || code === undefined) return error;
  const found =
    code === 'ENOENT' ? 'no such file' : code === 'EISDIR' ? 'a folder' : `${code}: ${error.message}`;
  return new UsageError(file, 'a readable file', found);
}

function checkUtf8(strict: TextDecoder, raw: Buffer, place: string): void {
  try {
    strict.decode(raw);
  } catch (error) {
    throw new UsageError(place, 'UTF-8 text', `bytes that are not (${(error as Error).message})`);
  }
}
