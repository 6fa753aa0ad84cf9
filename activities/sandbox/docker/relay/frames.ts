/**
 * What is said between a relay in a container and the worker: frames, over one byte stream each way. Nothing of Node's
 * network is in here, and nothing of the engine. native/images/relay.py speaks the same.
 *
 * A frame is a kind (1 byte), a connection (32 bits), a length (32 bits, big-endian both), and that many bytes.
 */
const HEADER_BYTES = 9;
/** Longer content is cut into several frames. */
export const MAX_FRAME_BYTES = 64 * 1024;

export const KINDS = {
  /** The relay listens; connection 0. */
  ready: 0,
  /** A program in the container has connected; the content is the number of the endpoint, 1 byte. */
  open: 1,
  data: 2,
  /** Nothing more comes from this side. */
  end: 3,
  /** The connection is gone. */
  close: 4,
} as const;
export type Kind = (typeof KINDS)[keyof typeof KINDS];

const KNOWN = new Set<number>(Object.values(KINDS));

export function frame(kind: Kind, connection: number, content: Uint8Array = new Uint8Array()): Buffer {
  const whole = Buffer.alloc(HEADER_BYTES + content.length);
  whole.writeUInt8(kind, 0);
  whole.writeUInt32BE(connection, 1);
  whole.writeUInt32BE(content.length, 5);
  whole.set(content, HEADER_BYTES);
  return whole;
}

export class RelayFrames {
  private held: Buffer = Buffer.alloc(0);

  constructor(private readonly to: (kind: Kind, connection: number, content: Buffer) => void) {}

  /** Throws an `Error` at bytes that are no frame. Holds less than one frame. */
  read(chunk: Buffer): void {
    this.held = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    while (this.held.length >= HEADER_BYTES) {
      const kind = this.held.readUInt8(0);
      const length = this.held.readUInt32BE(5);
      if (!KNOWN.has(kind) || length > MAX_FRAME_BYTES) {
        throw new Error(`expected a frame of the relay, found ${this.held.toString('hex', 0, HEADER_BYTES)}`);
      }
      if (this.held.length < HEADER_BYTES + length) return;
      const content = this.held.subarray(HEADER_BYTES, HEADER_BYTES + length);
      const connection = this.held.readUInt32BE(1);
      this.held = this.held.subarray(HEADER_BYTES + length);
      this.to(kind as Kind, connection, content);
    }
  }
}
