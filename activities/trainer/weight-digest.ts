/**
 * The weight digest of docs/contracts.md, from a safetensors file: SHA-256 over each tensor in name order: name, NUL,
 * shape as JSON, NUL, little-endian float32 bytes. Reads one tensor at a time: models are larger than memory.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Digest } from '../../core/artifacts.js';

const CHUNK_BYTES = 1 << 22;
const MAX_HEADER_BYTES = 100 * 1024 * 1024;

export interface Tensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

/** Undefined for a file that is no safetensors file, or holds anything but float32. */
export async function weightDigestOf(path: string): Promise<Digest | undefined> {
  const file = await open(path, 'r');
  try {
    const header = await readHeader(file);
    if (header === undefined) return undefined;
    const { tensors, dataStart } = header;
    const names = Object.keys(tensors).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    if (names.some((name) => tensors[name]!.dtype !== 'F32')) return undefined;
    const hash = createHash('sha256');
    for (const name of names) {
      const { shape, data_offsets: range } = tensors[name]!;
      hash.update(`${name}\0${JSON.stringify(shape)}\0`);
      for (let at = dataStart + range[0]; at < dataStart + range[1]; ) {
        const length = Math.min(CHUNK_BYTES, dataStart + range[1] - at);
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
        if (bytesRead === 0) return undefined;
        hash.update(buffer.subarray(0, bytesRead));
        at += bytesRead;
      }
    }
    return `sha256:${hash.digest('hex')}`;
  } finally {
    await file.close();
  }
}

/** Undefined where there is no such header. `dataStart`: offset of the first tensor's bytes. */
export async function readHeader(
  file: FileHandle,
): Promise<{ tensors: Readonly<Record<string, Tensor>>; dataStart: number } | undefined> {
  const size = Buffer.alloc(8);
  if ((await file.read(size, 0, 8, 0)).bytesRead < 8) return undefined;
  const bytes = Number(size.readBigUInt64LE());
  if (bytes > MAX_HEADER_BYTES) return undefined;
  const text = Buffer.alloc(bytes);
  if ((await file.read(text, 0, bytes, 8)).bytesRead < bytes) return undefined;
  try {
    const { __metadata__: _metadata, ...tensors } = JSON.parse(text.toString()) as Record<string, Tensor>;
    return { tensors, dataStart: 8 + bytes };
  } catch {
    // Not JSON, so no such file: the caller says that there is no digest.
    return undefined;
  }
}
