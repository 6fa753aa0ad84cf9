/**
 * How many rows a Parquet file has, read from its footer alone.
 *
 *   … data … | footer: FileMetaData in Thrift's compact protocol | length of the footer, 4 bytes | PAR1
 *
 * Of the footer only field 3 (`num_rows`) is read; what stands before it is stepped over. Source: the Parquet format's
 * `parquet.thrift` and Thrift's description of the compact protocol.
 */
import { open } from 'node:fs/promises';

const MAGIC = 'PAR1';
const TAIL_BYTES = 8;
/** A larger footer is no footer. */
const MOST_FOOTER_BYTES = 256 * 2 ** 20;
const NUM_ROWS = 3;

/** Throws where the file is not there, or is no Parquet file. */
export async function parquetRows(path: string): Promise<number> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size < TAIL_BYTES) throw new Error('no Parquet file: too short');
    const { buffer: tail } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, size - TAIL_BYTES);
    const length = tail.readUInt32LE(0);
    if (tail.toString('latin1', 4) !== MAGIC) throw new Error(`no Parquet file: it does not end in ${MAGIC}`);
    if (length > MOST_FOOTER_BYTES || length + TAIL_BYTES > size)
      throw new Error('no Parquet file: its footer is cut');
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - TAIL_BYTES - length);
    return rowsOf(new CompactReader(buffer));
  } finally {
    await file.close();
  }
}

function rowsOf(reader: CompactReader): number {
  for (let id = 0; ; ) {
    const field = reader.field(id);
    if (field === undefined) throw new Error('no Parquet file: its footer has no number of rows');
    id = field.id;
    if (id === NUM_ROWS) return Number(reader.zigzag());
    reader.skip(field.type);
  }
}

/** Types of the compact protocol, as fields have them. */
const TYPES = {
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
} as const;

class CompactReader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  /** The next field of a struct, `before` being the last one's id; undefined at its end. */
  field(before: number): { readonly id: number; readonly type: number } | undefined {
    const head = this.#byte();
    if (head === 0) return undefined;
    const delta = head >> 4;
    return { id: delta === 0 ? Number(this.zigzag()) : before + delta, type: head & 0x0f };
  }

  zigzag(): bigint {
    const raw = this.#varint();
    return (raw >> 1n) ^ -(raw & 1n);
  }

  skip(type: number): void {
    switch (type) {
      case TYPES.true:
      case TYPES.false:
        return;
      case TYPES.byte:
        this.#step(1);
        return;
      case TYPES.i16:
      case TYPES.i32:
      case TYPES.i64:
        this.#varint();
        return;
      case TYPES.double:
        this.#step(8);
        return;
      case TYPES.binary:
        this.#step(Number(this.#varint()));
        return;
      case TYPES.list:
      case TYPES.set:
        this.#skipList();
        return;
      case TYPES.map:
        this.#skipMap();
        return;
      case TYPES.struct:
        for (let id = 0; ; ) {
          const field = this.field(id);
          if (field === undefined) return;
          id = field.id;
          this.skip(field.type);
        }
      default:
        throw new Error(`no Parquet file: its footer has a field of type ${type}`);
    }
  }

  #skipList(): void {
    const head = this.#byte();
    const size = head >> 4 === 15 ? Number(this.#varint()) : head >> 4;
    for (let index = 0; index < size; index += 1) this.#skipElement(head & 0x0f);
  }

  #skipMap(): void {
    const size = Number(this.#varint());
    if (size === 0) return;
    const types = this.#byte();
    for (let index = 0; index < size; index += 1) {
      this.#skipElement(types >> 4);
      this.#skipElement(types & 0x0f);
    }
  }

  /** Within lists and maps a boolean is a byte of its own. */
  #skipElement(type: number): void {
    if (type === TYPES.true || type === TYPES.false) this.#step(1);
    else this.skip(type);
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      if (shift > 63n) throw new Error('no Parquet file: a number in its footer does not end');
    }
  }

  #byte(): number {
    const byte = this.bytes[this.#at];
    if (byte === undefined) throw new Error('no Parquet file: its footer ends too early');
    this.#at += 1;
    return byte;
  }

  #step(bytes: number): void {
    this.#at += bytes;
    if (this.#at > this.bytes.length) throw new Error('no Parquet file: its footer ends too early');
  }
}
