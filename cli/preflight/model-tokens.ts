/** Control tokens by output format: what a tokenizer must have as one token each for a model of that family. */

const CHAT = ['<|im_start|>', '<|im_end|>'] as const;
const REASONING = ['<think>', '</think>'] as const;
const CALLS = ['<tool_call>', '</tool_call>'] as const;

/** All families that are read today write ChatML turns and Qwen's markers (core/interpret). */
export function modelTokens(format: string): readonly string[] {
  return [...CHAT, ...(format.endsWith('_plain') ? [] : REASONING), ...CALLS];
}
