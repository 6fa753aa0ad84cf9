/** What a request may cost a provider's token limit, and what its reply says that it did cost. */

type Fields = Readonly<Record<string, unknown>>;

/** Bytes of text that are one token, at the least: English has four, other scripts three. */
const BYTES_PER_TOKEN = 3;

/** The most tokens that a request can use: its prompt, ids counted and text estimated, and all that it may sample. */
export function demandOf({ prompt, messages, tools, ...limits }: Fields): number {
  const most = limits.max_tokens ?? limits.max_completion_tokens;
  const sampled = typeof most === 'number' ? most : 0;
  if (Array.isArray(prompt)) return prompt.length + sampled;
  const text = JSON.stringify([prompt, messages, tools]);
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + sampled;
}

/** Undefined for a reply without usage. */
export function usedTokens(reply: unknown): number | undefined {
  const usage = fieldsOf(fieldsOf(reply)?.usage);
  const { total_tokens: total, prompt_tokens: prompt, completion_tokens: completion } = usage ?? {};
  if (typeof total === 'number') return total;
  return typeof prompt === 'number' && typeof completion === 'number' ? prompt + completion : undefined;
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
}
