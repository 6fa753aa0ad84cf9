/** The connections of one relay, on either side of it: sockets, and the frames that stand for what they say. */
import type { Socket } from 'node:net';
import { frame, KINDS, type Kind, MAX_FRAME_BYTES } from './frames.js';

/** What one connection may have under way to a side that does not read; more cuts it. Nothing waits for another. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024;

/** Where frames go: `write` is false when nothing more should come until `drain`. */
export interface FrameSink {
  write(bytes: Buffer): boolean;
  on(event: 'drain', listener: () => void): unknown;
}

export class Connections {
  private readonly sockets = new Map<number, Socket>();

  constructor(private readonly out: FrameSink) {
    out.on('drain', () => {
      for (const socket of this.sockets.values()) socket.resume();
    });
  }

  get size(): number {
    return this.sockets.size;
  }

  has(connection: number): boolean {
    return this.sockets.has(connection);
  }

  /** Sockets must be made with `allowHalfOpen`: each direction ends by itself. */
  add(connection: number, socket: Socket): void {
    this.sockets.set(connection, socket);
    socket.on('data', (chunk: Buffer) => {
      let free = true;
      for (let at = 0; at < chunk.length; at += MAX_FRAME_BYTES) {
        free = this.send(KINDS.data, connection, chunk.subarray(at, at + MAX_FRAME_BYTES));
      }
      if (!free) for (const each of this.sockets.values()) each.pause();
    });
    socket.on('end', () => this.send(KINDS.end, connection));
    // Followed by 'close', which tells the other side.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.sockets.delete(connection)) this.send(KINDS.close, connection);
    });
  }

  /** A frame about a connection; one that is gone already is nobody's. */
  take(kind: Kind, connection: number, content: Buffer): void {
    const socket = this.sockets.get(connection);
    if (!socket) return;
    if (kind === KINDS.data) {
      socket.write(content);
      if (socket.writableLength > MAX_PENDING_BYTES) socket.destroy();
    } else if (kind === KINDS.end) socket.end();
    else if (kind === KINDS.close) {
      this.sockets.delete(connection);
      // One that was not ended first has broken, and is to be seen broken.
      if (socket.writableEnded) socket.destroySoon();
      else socket.resetAndDestroy();
    }
  }

  refuse(connection: number): void {
    this.send(KINDS.close, connection);
  }

  destroy(): void {
    const all = [...this.sockets.values()];
    this.sockets.clear();
    for (const socket of all) socket.destroy();
  }

  private send(kind: Kind, connection: number, content?: Buffer): boolean {
    return this.out.write(frame(kind, connection, content));
  }
}
