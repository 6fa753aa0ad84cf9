/**
 * Secrets that this process has used, so that none of them leaves it in a text: an endpoint may repeat its key in an
 * error or an answer, and such texts go to histories, the ledger, artifacts, logs and reports. Known by use: whoever
 * takes a secret from the environment to send it somewhere registers it first.
 */

/** In the place of a secret. */
export const HIDDEN = '[secret]';
/** Shorter ones are no secrets but words, e.g. the `none` of servers that ask for no key. */
const LEAST = 8;

const known = new Set<string>();
/** Longest first: one may be the beginning of another. */
let ordered: readonly string[] = [];

/** As it is, as JSON escapes it, also within JSON (the arguments of a call in a reply), and as addresses do. */
export function registerSecret(secret: string): void {
  if (secret.length < LEAST || known.has(secret)) return;
  const escaped = inJson(secret);
  for (const form of [secret, escaped, inJson(escaped), encodeURIComponent(secret)]) known.add(form);
  ordered = [...known].sort((a, b) => b.length - a.length);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The password in an address, in both forms; an address without one has none. */
export function registerPassword(address: string): void {
  if (!URL.canParse(address)) return;
  const { password } = new URL(address);
  if (password === '') return;
  registerSecret(password);
  try {
    registerSecret(decodeURIComponent(password));
  } catch {
    // Not escaped by the rules: it is known as it stands.
  }
}

export function hideSecrets(text: string): string {
  let hidden = text;
  for (const secret of ordered) if (hidden.includes(secret)) hidden = hidden.replaceAll(secret, HIDDEN);
  return hidden;
}

/** The same bytes where there is nothing to hide. */
export function hideInBytes(bytes: Buffer): Buffer {
  if (!ordered.some((secret) => bytes.includes(secret))) return bytes;
  return Buffer.from(hideSecrets(bytes.toString('utf8')), 'utf8');
}

/** Every text in a value that came as JSON; the same value where there is nothing to hide. */
export function hideInJson<T>(value: T): T {
  const text = JSON.stringify(value);
  const hidden = text === undefined ? text : hideSecrets(text);
  return hidden === text || hidden === undefined ? value : (JSON.parse(hidden) as T);
}

/** In place: message and stack of an error and of everything that caused it. */
export function hideInError(error: unknown): void {
  const seen = new Set<unknown>();
  for (let each = error; each instanceof Error && !seen.has(each); each = each.cause) {
    seen.add(each);
    const { message, stack } = each;
    const [clean, trace] = [hideSecrets(message), stack === undefined ? stack : hideSecrets(stack)];
    if (clean !== message) each.message = clean;
    if (trace !== undefined && trace !== stack) each.stack = trace;
  }
}
