/** Lines of a large text file, gzipped or not, one at a time, in memory bounded by the longest line. */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { UsageError } from '../../core/faults.js';

const NEWLINE = 0x0a;
const CHUNK_BYTES = 1 << 20;
/** Far above any real row; a file without line ends must not fill the memory. */
const MAX_LINE_BYTES = 256 << 20;

/** Appears in decoded text when bytes were not UTF-8 (or, legally, when the text holds U+FFFD itself). */
const REPLACEMENT = '\ufffd';

/** Which programs for Windows write before the first character. */
const BYTE_ORDER_MARK = '\ufeff';
/** How every gzip file begins, whatever its name. */
const GZIP = [0x1f, 0x8b];

export interface FileFacts {
  /** SHA-256 of the whole file as it lies on disk, hexadecimal. */
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * Calls `onLine` for every line that is not blank; `number` counts all lines from 1. A byte order mark and carriage
 * returns are no part of a line. The next line is read when what `onLine` returns has settled. Throws `UsageError` for
 * a file that cannot be read, a line that is not UTF-8, or one above 256 MiB, naming file and line.
 */
export async function forEachLine(
  file: string,
  onLine: (line: string, number: number) => void | Promise<void>,
): Promise<FileFacts> {
  const disk = { hash: createHash('sha256'), bytes: 0 };
  const strict = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  /** Parts of a line whose end has not been read yet. */
  let open: Buffer[] = [];
  let openBytes = 0;

  const emit = (raw: Buffer): void | Promise<void> => {
    number += 1;
    const text = raw.toString('utf8');
    if (text.includes(REPLACEMENT)) checkUtf8(strict, raw, `${file}:${number}`);
    const line = text.slice(number === 1 && text.startsWith(BYTE_ORDER_MARK) ? 1 : 0).replace(/\r$/, '');
    return line.trim() === '' ? undefined : onLine(line, number);
  };

  try {
    for await (const chunk of plainBytes(file, disk)) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        const piece = chunk.subarray(start, end);
        const told = emit(open.length === 0 ? piece : Buffer.concat([...open, piece]));
        if (told) await told;
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
    throw readable(unzipped(error, `${file}:${number + 1}`), file);
  }
  if (open.length > 0) await emit(Buffer.concat(open));
  return { sha256: disk.hash.digest('hex'), bytes: disk.bytes };
}

/** The content of the file; `disk` is told of the bytes as they lie there. */
async function* plainBytes(file: string, disk: { hash: Hash; bytes: number }): AsyncGenerator<Buffer> {
  const source = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      disk.hash.update(chunk);
      disk.bytes += chunk.length;
      yield chunk;
    }
  }
  const chunks = counted();
  const first = await chunks.next();
  if (first.done) return;
  async function* whole(): AsyncGenerator<Buffer> {
    yield first.value as Buffer;
    yield* chunks;
  }
  if (GZIP.every((byte, at) => first.value[at] === byte)) {
    const unzip = createGunzip({ chunkSize: CHUNK_BYTES });
    // An error on either side ends the other one, and comes out of the loop that reads.
    pipeline(Readable.from(whole()), unzip, () => undefined);
    yield* unzip as AsyncIterable<Buffer>;
  } else yield* whole();
}

/** A damaged or truncated gzip stream as one that names the place. */
function unzipped(error: unknown, place: string): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (!(error instanceof Error) || !code.startsWith('Z_')) return error;
  return new UsageError(place, 'a whole gzip file', `${error.message} (${code})`);
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
