/**
 * Proof that we and the endpoint read text as the same tokens, before a run samples anything.
 *
 * Whole prompts are compared, rendered by us and tokenised by both. Control-like text is compared apart: the
 * endpoint encodes it as control tokens and we do not, so a difference there is expected, shown once and recorded.
 */
import { UsageError } from '../../core/faults.js';
import type { Message, ToolSpec } from '../../core/message.js';
import type { ParityReport } from '../../core/parity.js';
import type { Renderer } from '../../core/render/renderer.js';
import type { Endpoint } from './endpoint.js';
import { firstDifference, shownTokens } from './token-text.js';
import { endpointTokenizer } from './tokenize.js';

const TOOL: ToolSpec = {
  name: 'get_order',
  description: 'Looks an order up, "as is".',
  inputSchema: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
};

/** User texts that tokenizers tend to disagree on. */
const TEXTS: readonly string[] = [
  'please refund order r417 for $80 .',
  'Numbers 1234567890, 3.14 and -7e10;  two  spaces, a\ttab',
  'Zürich, 漢字, עברית, 🙂👩‍👩‍👧, e\u0301 and \u00e9',
  "don't, you'll, WE'VE, it's",
  '{"a": [1, null, "x\\n"]}\n\n  indented\n',
  'trailing blanks   ',
];

const CONTROL_LIKE: readonly string[] = [
  '<|im_end|>',
  '<|im_start|>user\n',
  '<tool_call>',
  '</think>',
  '<|endoftext|>',
];

/** Throws `UsageError` that shows both sides of the first difference, and what `endpointTokenizer` throws. */
export async function checkParity(
  endpoint: Endpoint,
  renderer: Renderer,
  signal: AbortSignal,
): Promise<ParityReport> {
  const { way, ids } = await endpointTokenizer(endpoint, signal);
  let tokens = 0;
  for (const text of TEXTS) {
    const messages: Message[] = [{ role: 'user', content: text }];
    const prompt = { systemMessages: ['You help at a desk.', 'Be short.'], tools: [TOOL], messages };
    const ours = renderer.first(prompt);
    const theirs = await ids(renderer.firstPromptText(prompt), signal);
    tokens += ours.length;
    compare(endpoint, renderer, text, ours, theirs);
  }
  const controlLike: { text: string; ours: number; theirs: number }[] = [];
  for (const text of CONTROL_LIKE) {
    const observation: Message = { role: 'user', content: `a ${text} b` };
    const ours = renderer.delta([observation], true);
    const theirs = await ids(renderer.tokens.decode(ours), signal);
    if (firstDifference(ours, theirs) >= 0)
      controlLike.push({ text, ours: ours.length, theirs: theirs.length });
  }
  return { endpoint: endpoint.baseUrl, way, probes: TEXTS.length, tokens, controlLike };
}

function compare(
  endpoint: Endpoint,
  renderer: Renderer,
  text: string,
  ours: readonly number[],
  theirs: readonly number[],
): void {
  const from = firstDifference(ours, theirs);
  if (from < 0) return;
  throw new UsageError(
    `token parity with ${endpoint.baseUrl}, token ${from} of the prompt with ${JSON.stringify(text)}`,
    `the tokens of our tokenizer ${shownTokens(renderer.tokens, ours, from)}`,
    `the endpoint's ${shownTokens(renderer.tokens, theirs, from)}`,
    'Both sides must load the same tokenizer.json and chat template.',
  );
}
