/**
 * The safetensors format: an 8-byte little-endian length, that many bytes of JSON, then the tensors' bytes.
 * One layout for the same tensors: names in the order given, data without gaps, header padded with blanks to 8 bytes.
 */
import { Fault } from './faults.js';

export type TensorArray = Int32Array | Uint8Array | Float32Array;

const DTYPES = { I32: Int32Array, U8: Uint8Array, F32: Float32Array } as const;
type Dtype = keyof typeof DTYPES;

export interface TensorFile {
  readonly tensors: ReadonlyMap<string, TensorArray>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A larger header is no header. */
const MAX_HEADER_BYTES = 100 * 1024 * 1024;

/** One-dimensional tensors only: all that batches and trajectories need. */
export function encodeTensors({ tensors, metadata }: TensorFile): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: metadata };
  let size = 0;
  for (const [name, array] of tensors) {
    header[name] = {
      dtype: dtypeOf(array),
      shape: [array.length],
      data_offsets: [size, size + array.byteLength],
    };
    size += array.byteLength;
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const headerBytes = Math.ceil(json.length / 8) * 8;
  const bytes = new Uint8Array(8 + headerBytes + size).fill(0x20, 8 + json.length, 8 + headerBytes);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(headerBytes), true);
  bytes.set(json, 8);
  let at = 8 + headerBytes;
  for (const array of tensors.values()) {
    bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
    at += array.byteLength;
  }
  return bytes;
}

/** Throws `Fault('artifacts', code: 'corrupt')` for bytes that are not such a file. */
export function decodeTensors(bytes: Uint8Array): TensorFile {
  const { metadata, entries, data } = split(bytes);
  const tensors = new Map<string, TensorArray>();
  for (const [name, entry] of Object.entries(entries)) {
    const { dtype, data_offsets: offsets } = entry as { dtype?: unknown; data_offsets?: unknown };
    const [from, to] = Array.isArray(offsets) ? (offsets as unknown[]) : [];
    if (typeof dtype !== 'string' || !(dtype in DTYPES))
      throw corrupt(`tensor ${name} of type ${String(dtype)}`);
    if (typeof from !== 'number' || typeof to !== 'number' || from > to || to > data.length) {
      throw corrupt(`tensor ${name} lies outside the file`);
    }
    // Copied: a view needs an aligned offset, and the file's buffer may belong to someone else. Not by `slice`:
    // what is read from a file is a Buffer, whose `slice` is a view.
    const copy = new Uint8Array(data.subarray(from, to));
    const type = DTYPES[dtype as Dtype];
    if (copy.byteLength % type.BYTES_PER_ELEMENT !== 0)
      throw corrupt(`tensor ${name} has ${copy.byteLength} bytes`);
    tensors.set(name, new type(copy.buffer, 0, copy.byteLength / type.BYTES_PER_ELEMENT));
  }
  return { tensors, metadata };
}

/** The metadata alone; no tensor is copied. Throws as `decodeTensors`. */
export function decodeMetadata(bytes: Uint8Array): TensorFile['metadata'] {
  return split(bytes).metadata;
}

/** The tensor of this name and type. Throws `Fault('artifacts', code: 'corrupt')` when it is not there. */
export function tensor<D extends Dtype>(
  file: TensorFile,
  name: string,
  dtype: D,
): InstanceType<(typeof DTYPES)[D]> {
  const found = file.tensors.get(name);
  if (found instanceof DTYPES[dtype]) return found as InstanceType<(typeof DTYPES)[D]>;
  const what = found ? dtypeOf(found) : 'nothing';
  throw new Fault('artifacts', `safetensors: ${name}: expected ${dtype}, found ${what}`, {
    code: 'corrupt',
    retry: false,
  });
}

function dtypeOf(array: TensorArray): Dtype {
  if (array instanceof Int32Array) return 'I32';
  return array instanceof Uint8Array ? 'U8' : 'F32';
}

interface Parts {
  readonly metadata: TensorFile['metadata'];
  /** What the header says of each tensor. */
  readonly entries: Readonly<Record<string, unknown>>;
  /** The tensors' bytes, a view. */
  readonly data: Uint8Array;
}

function split(bytes: Uint8Array): Parts {
  if (bytes.length < 8) throw corrupt(`${bytes.length} bytes are no file`);
  const headerBytes = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (headerBytes > MAX_HEADER_BYTES || 8 + headerBytes > bytes.length)
    throw corrupt(`header of ${headerBytes} bytes`);
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerBytes)));
  } catch {
    throw corrupt('the header is no JSON');
  }
  if (typeof header !== 'object' || header === null) throw corrupt('the header is no JSON object');
  const { __metadata__: metadata = {}, ...entries } = header as Record<string, unknown>;
  if (typeof metadata !== 'object' || metadata === null) throw corrupt('its metadata is no JSON object');
  return { metadata: metadata as TensorFile['metadata'], entries, data: bytes.subarray(8 + headerBytes) };
}

function corrupt(found: string): Fault {
  return new Fault('artifacts', `safetensors: ${found}`, { code: 'corrupt', retry: false });
}
