/** The framing of MCP over a stream: one JSON-RPC message a line, with a bound on its length and on all of them. */
import { type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { exactLine } from '../../core/exact-json.js';

/** One message of a server; a longer one ends the session. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Everything that one server may say in a session; one that talks without end would cost its worker the processor. */
export const MAX_SESSION_BYTES = 256 * 1024 * 1024;

/** Writes one message; settles when the stream takes more, or has closed. */
export async function writeLine(stream: NodeJS.WritableStream, message: JSONRPCMessage): Promise<void> {
  if (stream.write(`${exactLine(message)}\n`)) return;
  await new Promise<void>((resolve) => {
    stream.once('drain', resolve);
    stream.once('close', resolve);
  });
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

  constructor(private readonly reader: LineReader) {}

  /** Counts what came on another stream of the same server towards the bound on all. */
  count(chunk: Buffer): void {
    this.allBytes += chunk.length;
    if (this.allBytes > MAX_SESSION_BYTES) this.reader.tooMuch(`more than ${MAX_SESSION_BYTES} bytes in all`);
  }

  read(chunk: Buffer): void {
    this.count(chunk);
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.keep(chunk.subarray(from, at));
      from = at + 1;
      const line = Buffer.concat(this.pending).toString('utf8');
      this.pending = [];
      this.pendingBytes = 0;
      if (line.trim() !== '') this.line(line);
    }
    this.keep(chunk.subarray(from));
  }

  private keep(part: Buffer): void {
    if (part.length === 0) return;
    this.pendingBytes += part.length;
    if (this.pendingBytes <= MAX_MESSAGE_BYTES) this.pending.push(part);
    else this.reader.tooMuch(`a message longer than ${MAX_MESSAGE_BYTES} bytes`);
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
