/** Calls written as a model of the family writes them: what is written this way must be read back the same. */
import type { WrittenCall } from '../../core/interpret/format.js';
import type { Json } from '../../core/message.js';

export const WRITERS: Readonly<Record<string, (call: WrittenCall) => string>> = {
  qwen3_xml: xml,
  qwen3_xml_plain: xml,
  hermes: json,
  hermes_plain: json,
};

/** A whole turn. The plain formats have no reasoning. */
export function writeTurn(
  format: string,
  turn: { readonly reasoning: string; readonly content: string; readonly calls: readonly WrittenCall[] },
): string {
  const thought = format.endsWith('_plain') ? '' : `${turn.reasoning}\n</think>\n\n`;
  return `${thought}${turn.content}\n\n${turn.calls.map(WRITERS[format]!).join('\n')}`;
}

function xml({ name, arguments: values }: WrittenCall): string {
  const parameters = Object.entries(values).map(
    ([parameter, value]) => `<parameter=${parameter}>\n${text(value)}\n</parameter>\n`,
  );
  return `<tool_call>\n<function=${name}>\n${parameters.join('')}</function>\n</tool_call>`;
}

function json({ name, arguments: values }: WrittenCall): string {
  return `<tool_call>\n${JSON.stringify({ name, arguments: values })}\n</tool_call>`;
}

function text(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
