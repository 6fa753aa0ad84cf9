/** A conversation as the body of a chat completion: what a serving engine would be sent. */
import type { JsonObject, Message, ToolSpec } from '../../core/message.js';
import type { FirstPrompt } from '../../core/render/renderer.js';

export function wireRequest({ systemMessages, tools, messages }: FirstPrompt): JsonObject {
  const system = systemMessages.join('\n\n');
  const first = system === '' ? [] : [{ role: 'system', content: system }];
  return {
    messages: [...first, ...messages.map(wireMessage)],
    ...(tools.length === 0 ? {} : { tools: tools.map(wireTool) }),
  };
}

function wireMessage(message: Message): JsonObject {
  if (message.role === 'tool')
    return { role: 'tool', tool_call_id: message.callId, content: message.content };
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const { content, reasoning, toolCalls } = message;
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  return {
    role: 'assistant',
    content,
    ...(reasoning === '' ? {} : { reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function wireTool({ name, description, inputSchema }: ToolSpec): JsonObject {
  const described = description === undefined ? {} : { description };
  return { type: 'function', function: { name, ...described, parameters: inputSchema } };
}
