/**
 * Server-sent events as OpenAI-compatible servers write them: one JSON object an event, `[DONE]` after the last.
 *
 * Strict where it matters: a stream without `[DONE]` was cut, whatever it had said; bytes, silence and text are
 * bounded; an error event is thrown like the refusal that it is. What follows `[DONE]` is not read.
 */
import { APIError } from 'openai';
import type { Endpoint } from './endpoint.js';
import { BrokenStream } from './refusals.js';
import { type Fields, fieldsOf, unreadable } from './unreadable.js';

export interface StreamLimits {
  /** Silence after the first bytes, ms; before them only the message's own clock counts, since prompts queue. */
  readonly idleMs: number;
  /** Of the whole stream. */
  readonly maxBytes: number;
}

/** A connection is worth keeping only if it is free soon. */
const DRAIN_MS = 1_000;

/**
 * The objects of a stream. Throws `Fault` for what cannot be read, `BrokenStream` for a stream that ends too early or
 * stalls, and `APIError` for an error event. The connection is closed when the caller stops early.
 */
export async function* events(
  endpoint: Endpoint,
  body: ReadableStream<Uint8Array>,
  limits: StreamLimits,
): AsyncGenerator<Fields> {
  const chunks = new Chunks(body, limits);
  const lines = new Lines();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let data: string[] = [];
  let count = 0;
  let done = false;
  try {
    for (;;) {
      const bytes = await chunks.next(count);
      if (chunks.bytes > limits.maxBytes)
        throw unreadable(endpoint, 'the stream', `at most ${limits.maxBytes} bytes`, chunks.bytes);
      for (const line of lines.of(decoded(endpoint, decoder, bytes))) {
        const value = payloadOf(line);
        if (value !== undefined) data.push(value);
        if (line !== '' || data.length === 0) continue;
        const text = data.join('\n');
        data = [];
        if (text.trim() === '[DONE]') {
          done = true;
          return;
        }
        count += 1;
        yield objectOf(endpoint, text, count);
      }
    }
  } finally {
    chunks.release(done);
  }
}

function decoded(endpoint: Endpoint, decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch {
    throw unreadable(endpoint, 'the stream', 'UTF-8', 'other bytes');
  }
}

/** Payload of a `data` line. Some versions of llama.cpp name the field `error` where they send one. */
function payloadOf(line: string): string | undefined {
  if (line.startsWith('data:')) return line.startsWith('data: ') ? line.slice(6) : line.slice(5);
  return line.startsWith('error:') ? `{"error": ${line.slice(6)}}` : undefined;
}

function objectOf(endpoint: Endpoint, text: string, count: number): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable(endpoint, `event ${count}`, 'JSON', text);
  }
  const fields = fieldsOf(value);
  if (!fields) throw unreadable(endpoint, `event ${count}`, 'a JSON object', text);
  const error = fields.object === 'error' ? fields : fields.error;
  if (error === undefined || error === null) return fields;
  throw new APIError(undefined, fieldsOf(error) ?? { message: String(error) }, undefined, undefined);
}

/** Lines as they become complete. Linear in the text, however it is cut. */
class Lines {
  private pending: string[] = [];
  private skipFeed = false;

  of(text: string): string[] {
    const rest = this.skipFeed && text.startsWith('\n') ? text.slice(1) : text;
    this.skipFeed = rest.endsWith('\r');
    const lines = rest.split(/\r\n|\n|\r/);
    const last = lines.pop() ?? '';
    if (lines.length > 0 && this.pending.length > 0) {
      lines[0] = this.pending.join('') + lines[0];
      this.pending = [];
    }
    if (last !== '') this.pending.push(last);
    return lines;
  }
}

/** The bytes of a stream, with the clock for silence. */
class Chunks {
  bytes = 0;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private idle: ReturnType<typeof setTimeout> | undefined;
  private stalled = false;

  constructor(
    body: ReadableStream<Uint8Array>,
    private readonly limits: StreamLimits,
  ) {
    this.reader = body.getReader();
  }

  async next(events: number): Promise<Uint8Array> {
    const after = `after ${events} events`;
    let result: ReadableStreamReadResult<Uint8Array>;
    try {
      result = await this.reader.read();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new BrokenStream('unreachable', `the stream broke off ${after}: ${reason}`, error);
    }
    if (this.stalled)
      throw new BrokenStream('stalled', `the stream was silent for ${this.limits.idleMs / 1000} s ${after}`);
    if (result.done) throw new BrokenStream('unreachable', `the stream ended ${after}, without data: [DONE]`);
    this.bytes += result.value.length;
    this.idle = this.idle?.refresh() ?? setTimeout(() => this.stall(), this.limits.idleMs);
    return result.value;
  }

  /** A stream that was read to its end leaves a connection that can be used again; any other is closed. */
  release(done: boolean): void {
    clearTimeout(this.idle);
    if (!done) {
      this.close();
      return;
    }
    const timer = setTimeout(() => this.close(), DRAIN_MS);
    // The turn is complete: what becomes of the connection is nobody's fault any more.
    this.drain().then(
      () => clearTimeout(timer),
      () => clearTimeout(timer),
    );
  }

  private stall(): void {
    this.stalled = true;
    this.close();
  }

  private async drain(): Promise<void> {
    while (!(await this.reader.read()).done);
  }

  private close(): void {
    // Already broken, or closed by this: there is nothing to hear of it.
    this.reader.cancel().catch(() => undefined);
  }
}
