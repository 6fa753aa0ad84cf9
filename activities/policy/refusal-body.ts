/**
 * The body of a refusal, in the one shape that the OpenAI client reads: `{"error": {message, type, code}}`. Servers
 * have others, and a cause that is lost on the way is a night of guessing:
 *
 *   {"object": "error", "message": ..., "code": 400}        older vLLM, SGLang
 *   {"detail": "..."} or {"detail": [{loc, msg}]}           FastAPI
 *   {"error": "..."}, {"message": "..."}                    Ollama, gateways
 *   <html>...</html>                                        proxies
 */
import type { IncomingHttpHeaders } from 'node:http';

/** JSON text, whatever came. A redirect says where it leads: it is not followed. */
export function refusalBody(headers: IncomingHttpHeaders, body: Buffer): string {
  const text = body.toString('utf8');
  const said = messageOf(text);
  const location = headers.location === undefined ? '' : `redirected to ${headers.location}, not followed. `;
  return JSON.stringify({ error: { ...said, message: `${location}${said.message}` } });
}

interface Said {
  readonly message: string;
  readonly type?: unknown;
  readonly code?: unknown;
}

function messageOf(text: string): Said {
  const value = parsed(text);
  if (!isRecord(value)) return { message: plain(text) };
  const { error, message, detail } = value;
  if (isRecord(error)) return { ...error, message: said(error.message ?? error.detail, error) };
  if (error !== undefined && error !== null && error !== '') return { message: said(error, error) };
  return { message: said(message ?? detail, value), type: value.type, code: value.code };
}

function said(message: unknown, otherwise: unknown): string {
  return typeof message === 'string' ? message : (JSON.stringify(message ?? otherwise) ?? '');
}

/** A page without its markup: `502 Bad Gateway nginx`. */
function plain(text: string): string {
  const words = text
    .slice(0, 4_000)
    .replace(/<(style|script)[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ');
  return words.replace(/\s+/g, ' ').trim() || 'nothing';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // told as plain text
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
