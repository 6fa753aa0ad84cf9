/** Short ways to write messages and tools. */
import type { AssistantMessage, Message, ToolSpec } from '../../core/message.js';

export const TOOLS: readonly ToolSpec[] = [
  {
    name: 'get_order',
    description: 'Look an order up.',
    inputSchema: { type: 'object', properties: { order: { type: 'string' } } },
  },
];

export const user = (content: string): Message => ({ role: 'user', content });

export const tool = (content: string, name = 'get_order'): Message => ({
  role: 'tool',
  callId: 'c0',
  name,
  content,
  isError: false,
});

export const said = (content: string, changes: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: 'assistant',
  reasoning: '',
  content,
  toolCalls: [],
  ...changes,
});
