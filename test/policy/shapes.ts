/**
 * The same answers as engines write them, whole and streamed. Facts of the shapes, with their sources: docs/endpoints.md.
 */

/** One sampled turn of a token endpoint. */
export interface Sampled {
  readonly weights: string;
  readonly text: readonly string[];
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly finish: 'stop' | 'length';
  readonly prompt: readonly number[];
}

/** One turn of a chat endpoint. */
export interface Said {
  readonly reasoning?: string;
  readonly content?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly args: string }[];
  readonly finish: string;
}

export interface Shape<T> {
  readonly whole: (turn: T) => object;
  readonly chunks: (turn: T) => readonly object[];
}

const usage = (prompt: number, sampled: number) => ({
  prompt_tokens: prompt,
  completion_tokens: sampled,
  total_tokens: prompt + sampled,
});

const logprobsOf = (turn: Sampled, from: number, to: number) => ({
  text_offset: turn.ids.slice(from, to).map((_, i) => i),
  token_logprobs: turn.logprobs.slice(from, to),
  tokens: turn.text.slice(from, to),
  top_logprobs: turn.text.slice(from, to).map((text, i) => ({ [text]: turn.logprobs[from + i] })),
});

/** Positions at which chunks of `size` tokens begin. */
const starts = (count: number, size: number) =>
  Array.from({ length: Math.ceil(count / size) }, (_, i) => i * size);

/** vLLM: unset fields are absent in chunks, null in whole replies; prompt ids come with the first chunk. */
const vllmTokens = (size: number): Shape<Sampled> => ({
  whole: (turn) => ({
    id: 'cmpl-1',
    object: 'text_completion',
    created: 1,
    model: turn.weights,
    choices: [
      {
        index: 0,
        text: turn.text.join(''),
        logprobs: logprobsOf(turn, 0, turn.ids.length),
        finish_reason: turn.finish,
        stop_reason: null,
        token_ids: turn.ids,
        prompt_logprobs: null,
        prompt_token_ids: turn.prompt,
      },
    ],
    service_tier: null,
    system_fingerprint: null,
    usage: { ...usage(turn.prompt.length, turn.ids.length), prompt_tokens_details: null },
    kv_transfer_params: null,
  }),
  chunks: (turn) =>
    starts(turn.ids.length, size).map((from) => {
      const to = Math.min(from + size, turn.ids.length);
      const last = to === turn.ids.length;
      const choice = {
        index: 0,
        text: turn.text.slice(from, to).join(''),
        logprobs: logprobsOf(turn, from, to),
        finish_reason: last ? turn.finish : null,
        stop_reason: null,
        prompt_token_ids: from === 0 ? turn.prompt : null,
        token_ids: turn.ids.slice(from, to),
      };
      return { id: 'cmpl-1', object: 'text_completion', created: 1, model: turn.weights, choices: [choice] };
    }),
});

/** SGLang: the weights stand in `metadata` of whole replies; the end comes in a chunk of its own, usage in a last one. */
const sglangTokens: Shape<Sampled> = {
  whole: (turn) => {
    const { choices, usage: spent } = vllmTokens(1).whole(turn) as { choices: object[]; usage: object };
    const metadata = { weight_version: turn.weights };
    return { id: 'x', object: 'text_completion', created: 1, model: 'any', choices, usage: spent, metadata };
  },
  chunks: (turn) => {
    const tokens = vllmTokens(1).chunks(turn) as { choices: object[] }[];
    const open = tokens.map((chunk) => ({
      ...chunk,
      choices: chunk.choices.map((choice) => ({ ...choice, finish_reason: null })),
    }));
    const end = { index: 0, text: '', logprobs: null, finish_reason: turn.finish, token_ids: [] };
    return [
      ...open,
      { ...tokens[0], choices: [end] },
      { id: 'x', model: turn.weights, choices: [], usage: usage(turn.prompt.length, turn.ids.length) },
    ];
  },
};

/** The trainer: as vLLM, with `weight_version`; only whole replies. */
export const TOKEN_SHAPES: readonly (readonly [string, Shape<Sampled>])[] = [
  ['vLLM, a token a chunk', vllmTokens(1)],
  ['vLLM with stream_interval', vllmTokens(4)],
  ['SGLang', sglangTokens],
];

interface ChatWords {
  readonly reasoning: 'reasoning' | 'reasoning_content';
  /** What stands in the first chunk beside the role. */
  readonly opening: object;
  /** Name and arguments of a call in one chunk, or in pieces. */
  readonly callPieces: boolean;
  readonly usageIn: 'own chunk' | 'every chunk';
}

const pieces = (text: string): string[] => text.match(/[\s\S]{1,3}/g) ?? [];

function chat({ reasoning, opening, callPieces, usageIn }: ChatWords): Shape<Said> {
  const head = { id: 'chatcmpl-1', created: 1, model: 'm', system_fingerprint: 'fp' };
  const spent = usage(9, 4);
  return {
    whole: (turn) => ({
      ...head,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: turn.content ?? null,
            ...(turn.reasoning === undefined ? {} : { [reasoning]: turn.reasoning }),
            ...(turn.calls ? { tool_calls: turn.calls.map(wholeCall) } : {}),
          },
          logprobs: null,
          finish_reason: turn.finish,
        },
      ],
      usage: spent,
    }),
    chunks: (turn) => {
      const deltas: object[] = [{ role: 'assistant', ...opening }];
      deltas.push(...pieces(turn.reasoning ?? '').map((text) => ({ [reasoning]: text })));
      deltas.push(...pieces(turn.content ?? '').map((text) => ({ content: text })));
      for (const [index, { id, name, args }] of (turn.calls ?? []).entries()) {
        const begun = { index, id, type: 'function', function: { name, arguments: callPieces ? '' : args } };
        const rest = callPieces ? pieces(args) : [];
        deltas.push({ tool_calls: [begun] });
        deltas.push(...rest.map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] })));
      }
      const chunk = (delta: object, finish: string | null) => ({
        ...head,
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
        usage: usageIn === 'every chunk' ? spent : null,
      });
      const all: object[] = [...deltas.map((delta) => chunk(delta, null)), chunk({}, turn.finish)];
      if (usageIn === 'own chunk')
        all.push({ ...head, object: 'chat.completion.chunk', choices: [], usage: spent });
      return all;
    },
  };
}

const wholeCall = ({ id, name, args }: { id: string; name: string; args: string }) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});

export const CHAT_SHAPES: readonly (readonly [string, Shape<Said>])[] = [
  [
    'OpenAI',
    chat({
      reasoning: 'reasoning_content',
      opening: { content: '', refusal: null },
      callPieces: true,
      usageIn: 'own chunk',
    }),
  ],
  [
    'vLLM',
    chat({ reasoning: 'reasoning', opening: { content: '' }, callPieces: true, usageIn: 'own chunk' }),
  ],
  [
    'llama.cpp',
    chat({
      reasoning: 'reasoning_content',
      opening: { content: null },
      callPieces: false,
      usageIn: 'own chunk',
    }),
  ],
  [
    'a gateway with usage in every chunk',
    chat({ reasoning: 'reasoning', opening: {}, callPieces: true, usageIn: 'every chunk' }),
  ],
];
