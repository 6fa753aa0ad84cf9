/**
 * Where reasoning ends, read as vLLM's `qwen3` reasoning parser reads it. The prompt has opened the reasoning:
 *
 *   reasoning ──</think>──► content        reasoning ──<tool_call>──► content, the tag included
 *
 * Further `<think>` in the reasoning and `</think>` in the content are dropped, and so are control tokens everywhere.
 */

/** Tokens that Qwen's tokenizers mark as special; a decoder that shows them must not change the reading. */
export const CONTROL =
  '<\\|(?:endoftext|im_start|im_end|object_ref_start|object_ref_end|box_start|box_end|quad_start|quad_end|' +
  'vision_start|vision_end|vision_pad|image_pad|video_pad)\\|>';

const END = /<\/think>|<tool_call>/g;
const NO_REASONING = new RegExp(`<think>|${CONTROL}`, 'g');
const NO_CONTENT = new RegExp(`</think>|${CONTROL}`, 'g');

/** Both texts as written, blanks included. */
export interface ReasonedText {
  readonly reasoning: string;
  readonly content: string;
  /** False when the text ended inside the reasoning. */
  readonly ended: boolean;
}

export function readReasoning(text: string): ReasonedText {
  END.lastIndex = 0;
  const end = END.exec(text);
  const content = end === null ? '' : text.slice(end[0] === '<tool_call>' ? end.index : END.lastIndex);
  return {
    reasoning: text.slice(0, end?.index).replace(NO_REASONING, ''),
    content: content.replace(NO_CONTENT, ''),
    ended: end !== null,
  };
}
