/** The framing of MCP over a stream: one JSON-RPC message a line, with bounds on its length, and on all of them. */
import { type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { exactLine } from '../../core/exact-json.js';

/** One message of a server; a longer one ends the session. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Everything that one server may say in a session; one that talks without end would cost its worker the processor. */
export const MAX_SESSION_BYTES = 256 * 1024 * 1024;
/**
 * Lines of a session, messages or not: short ones cost far more than their bytes, and one that asks something of us is
 * answered, whether or not the server ever reads. Too low: talkative servers lose their sessions.
 */
const MAX_SESSION_LINES = 20_000;
/** What may wait for a server that does not read, before the message that is one too many. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

/** Writes one message; settles when the stream takes more, or has closed. Throws when the server does not read. */
export async function writeLine(
  stream: NodeJS.WritableStream & { readonly writableLength?: number },
  message: JSONRPCMessage,
): Promise<void> {
  if ((stream.writableLength ?? 0) > MAX_UNREAD_BYTES) {
    throw new Error(`the server has not read ${MAX_UNREAD_BYTES} bytes that it was sent`);
  }
  if (!stream.write(`${exactLine(message)}\n`)) await taken(stream);
}

const waits = new WeakMap<NodeJS.WritableStream, Promise<void>>();

/** One wait a stream, however many messages are in it: a listener of each would stay until the session ends. */
function taken(stream: NodeJS.WritableStream): Promise<void> {
  const known = waits.get(stream);
  if (known) return known;
  const wait = new Promise<void>((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done);
      waits.delete(stream);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
  waits.set(stream, wait);
  return wait;
}

export interface LineReader {
  message(message: JSONRPCMessage): void;
  /** A line that is no message. Programs print to standard output what belongs on standard error. */
  noise(error: Error): void;
  /** More than a bound; `what` says which, and nothing more is worth reading. */
  tooMuch(what: string): void;
}

export class JsonLines {
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  private allBytes = 0;
  private lines = 0;
  private cut = false;

  constructor(private readonly reader: LineReader) {}

  /** Counts what came on another stream of the same server towards the bound on all. */
  count(chunk: Buffer): void {
    this.allBytes += chunk.length;
    if (this.allBytes > MAX_SESSION_BYTES) this.end(`more than ${MAX_SESSION_BYTES} bytes in all`);
  }

  private end(what: string): void {
    if (this.cut) return;
    this.cut = true;
    this.pending = [];
    this.reader.tooMuch(what);
  }

  read(chunk: Buffer): void {
    this.count(chunk);
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0 && !this.cut; at = chunk.indexOf(10, from)) {
      this.lines += 1;
      if (this.lines > MAX_SESSION_LINES) this.end(`more than ${MAX_SESSION_LINES} lines`);
      this.keep(chunk.subarray(from, at));
      from = at + 1;
      const line = Buffer.concat(this.pending).toString('utf8');
      this.pending = [];
      this.pendingBytes = 0;
      if (!this.cut && line.trim() !== '') this.line(line);
    }
    this.keep(chunk.subarray(from));
  }

  private keep(part: Buffer): void {
    if (this.cut || part.length === 0) return;
    this.pendingBytes += part.length;
    if (this.pendingBytes <= MAX_MESSAGE_BYTES) this.pending.push(part);
    else this.end(`a message longer than ${MAX_MESSAGE_BYTES} bytes`);
  }

  private line(line: string): void {
    let parsed: JSONRPCMessage;
    try {
      parsed = JSONRPCMessageSchema.parse(JSON.parse(line));
    } catch (error) {
      this.reader.noise(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.reader.message(parsed);
  }
}
