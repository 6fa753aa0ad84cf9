/**
 * A tar archive whose bytes depend on nothing but its entries: sorted by path, owned by root, of 1970. The format is
 * POSIX ustar.
 */
const BLOCK = 512;
const NAME_BYTES = 100;
/** Longer paths are cut at a slash: what comes before it has a field of its own. */
const PREFIX_BYTES = 155;

export interface TarEntry {
  /** Without a leading slash. */
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
  /** Absent: a folder. */
  readonly content?: Buffer;
}

/** Throws an `Error` for a path that cannot be cut into 155 and 100 bytes. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const sorted = [...entries].sort((a, b) => (a.path < b.path ? -1 : 1));
  const parts = sorted.flatMap((entry) => {
    const { content } = entry;
    if (!content) return [header(entry)];
    return [header(entry), content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function header({ path, mode, content }: TarEntry): Buffer {
  const { prefix, name } = cut(content ? path : `${path}/`);
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0);
  block.write(octal(mode, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(content?.length ?? 0, 12), 124);
  block.write(octal(0, 12), 136);
  // The checksum is taken with spaces in its own place.
  block.write('        ', 148);
  block.write(content ? '0' : '5', 156);
  block.write('ustar\u000000', 257, 'latin1');
  block.write(prefix, 345);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

function cut(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (name === '' || Buffer.byteLength(prefix) > PREFIX_BYTES) break;
    if (Buffer.byteLength(name) <= NAME_BYTES) return { prefix, name };
  }
  throw new Error(`path in an image: expected at most ${NAME_BYTES} bytes after a slash, found "${path}"`);
}

function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, '0')}\0`;
}
