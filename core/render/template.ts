/** A chat template (Jinja), and messages in the shape that templates know. */
import { Template } from '@huggingface/jinja';
import { UsageError } from '../faults.js';
import type { JsonObject, Message, ToolSpec } from '../message.js';

/** A message as templates read it. */
export type TemplateMessage = JsonObject & { readonly role: string; readonly content: string };

export class ChatTemplate {
  private readonly template: Template;

  /** Throws `UsageError` for a template that does not parse. */
  constructor(source: string) {
    try {
      this.template = new Template(source);
    } catch (error) {
      throw new UsageError('chat template', 'a Jinja template', messageOf(error));
    }
  }

  /** The text with the generation prompt at its end. Throws `UsageError` with what the template raised. */
  render(messages: readonly TemplateMessage[], tools: readonly JsonObject[]): string {
    try {
      return this.template.render({
        messages: [...messages],
        ...(tools.length > 0 ? { tools: [...tools] } : {}),
        add_generation_prompt: true,
      });
    } catch (error) {
      const roles = messages.map((message) => message.role).join(', ');
      throw new UsageError('chat template', `a template that renders the roles ${roles}`, messageOf(error));
    }
  }
}

/** Several leading system messages as one, joined by a blank line. */
export function joinSystem(systemMessages: readonly string[]): TemplateMessage[] {
  return systemMessages.length === 0 ? [] : [{ role: 'system', content: systemMessages.join('\n\n') }];
}

export function templateMessage(message: Message): TemplateMessage {
  switch (message.role) {
    case 'tool':
      return { role: 'tool', name: message.name, tool_call_id: message.callId, content: message.content };
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content,
        ...(message.reasoning === '' ? {} : { reasoning_content: message.reasoning }),
        ...(message.toolCalls.length === 0
          ? {}
          : {
              tool_calls: message.toolCalls.map(({ name, arguments: args }) => ({
                type: 'function',
                function: { name, arguments: args },
              })),
            }),
      };
    default:
      return { role: message.role, content: message.content };
  }
}

/** A tool as serving engines hand it to the template. */
export function templateTool({ name, description, inputSchema }: ToolSpec): JsonObject {
  const described = description === undefined ? {} : { description };
  return { type: 'function', function: { name, ...described, parameters: inputSchema } };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
