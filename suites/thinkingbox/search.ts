/**
 * Whether an address is a Typesense that the benchmark's servers can search in, asked before a suite is added with it:
 * it is well, takes the key, and is of a version that embeds texts by itself, which their collections ask for.
 */
import { UsageError } from '../../core/faults.js';

const PLACE = 'suite add --search';
const ANSWER_MS = 10_000;
/** `embed` of a collection's field came with 0.25. */
const LEAST = [0, 25] as const;

export interface SearchPlace {
  readonly url: string;
  readonly key: string;
  /** Variable that holds the key; absent: none was named. */
  readonly keyEnv?: string | undefined;
}

/** Throws `UsageError` with what the address answers. */
export async function checkSearch({ url, key, keyEnv }: SearchPlace): Promise<void> {
  const base = url.replace(/\/+$/, '');
  const get = async (path: string): Promise<Response> => {
    try {
      const headers = { 'x-typesense-api-key': key };
      return await fetch(`${base}${path}`, { headers, signal: AbortSignal.timeout(ANSWER_MS) });
    } catch (error) {
      throw new UsageError(PLACE, 'a Typesense that answers', `${base}: ${reasonOf(error)}`);
    }
  };
  const health = await jsonOf(await get('/health'));
  if (health?.ok !== true) {
    throw new UsageError(PLACE, `a Typesense that is well ({"ok": true} of ${base}/health)`, shown(health));
  }
  // Sessions make collections and delete them: a key for searches alone is not enough.
  const listed = await get('/collections');
  if (listed.status === 401 || listed.status === 403) {
    const place = keyEnv ?? 'suite add --search-key-env';
    throw new UsageError(
      place,
      `a key that manages collections at ${base}`,
      `one that it refuses (${listed.status})`,
    );
  }
  if (!Array.isArray(await bodyOf(listed))) {
    throw new UsageError(PLACE, `a list of collections of ${base}/collections`, `HTTP ${listed.status}`);
  }
  const version = (await jsonOf(await get('/debug')))?.version;
  if (typeof version === 'string' && !isNewEnough(version)) {
    throw new UsageError(
      PLACE,
      `Typesense ${LEAST.join('.')} or later, which embeds texts by itself`,
      version,
    );
  }
}

/** A version that is no number, e.g. `nightly`, is taken for a new one. */
function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (Number.isNaN(major) || Number.isNaN(minor)) return true;
  return major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1]);
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller says what was expected
  }
}

async function jsonOf(response: Response): Promise<Readonly<Record<string, unknown>> | undefined> {
  const value = await bodyOf(response);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

function shown(value: unknown): string {
  return value === undefined ? 'no JSON object' : JSON.stringify(value).slice(0, 200);
}

function reasonOf(error: unknown): string {
  const { cause, name, message } = error as Error & { cause?: { code?: unknown } };
  if (typeof cause?.code === 'string') return cause.code;
  return name === 'TimeoutError' ? `no answer in ${ANSWER_MS / 1000} s` : message;
}
