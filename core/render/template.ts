/** A chat template (Jinja), and messages in the shape that templates know. */
import { UsageError } from '../faults.js';
import type { Json, JsonObject, Message, ToolSpec } from '../message.js';
import { PythonTemplate } from './python-jinja.js';

/** A message as templates read it. */
export type TemplateMessage = JsonObject & { readonly role: string; readonly content: string };

const PLACE = 'tokenizer_config.json: chat_template';

/** Tokens that templates may name. */
const NAMED_TOKENS = ['bos_token', 'eos_token', 'pad_token', 'unk_token'] as const;

export class ChatTemplate {
  private readonly template: PythonTemplate;
  /** For conversations with tools, where the model has one of its own. */
  private readonly toolTemplate: PythonTemplate;
  private readonly variables: JsonObject;

  /**
   * `options`: further variables of the template, such as `enable_thinking`. Throws `UsageError` for a configuration
   * without a template, or with one that does not parse, and for options that it does not read.
   */
  constructor(config: JsonObject, options: JsonObject = {}) {
    const sources = templateSources(config.chat_template);
    requireRead(options, `${sources.plain}\n${sources.tools}`);
    this.template = parsed(sources.plain);
    this.toolTemplate = sources.tools === sources.plain ? this.template : parsed(sources.tools);
    const tokens = NAMED_TOKENS.map((name) => [name, tokenText(config[name])] as const);
    const named = tokens.filter(
      (entry): entry is readonly [(typeof entry)[0], string] => entry[1] !== undefined,
    );
    this.variables = { ...Object.fromEntries(named), ...options };
  }

  /** The text with the generation prompt at its end. Throws `UsageError` with what the template raised. */
  render(messages: readonly TemplateMessage[], tools: readonly JsonObject[]): string {
    const withTools = tools.length > 0;
    try {
      return (withTools ? this.toolTemplate : this.template).render({
        ...this.variables,
        messages,
        ...(withTools ? { tools } : {}),
        add_generation_prompt: true,
      });
    } catch (error) {
      const roles = messages.map((message) => message.role).join(', ');
      const expected = `a template that renders the roles ${roles}${withTools ? ' with tools' : ''}`;
      throw new UsageError(PLACE, expected, messageOf(error));
    }
  }
}

/** The token that a configuration names, as text or as an added token. */
export function tokenText(value: Json | undefined): string | undefined {
  const text = typeof value === 'object' && value !== null && 'content' in value ? value.content : value;
  return typeof text === 'string' ? text : undefined;
}

/** Several leading system messages as one, joined by a blank line; none when there is no text. */
export function joinSystem(systemMessages: readonly string[]): TemplateMessage[] {
  const content = systemMessages.join('\n\n');
  return content === '' ? [] : [{ role: 'system', content }];
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

/**
 * A tool as serving engines hand it to the template: the fields of the chat API in its order, and null for a
 * description that is not given (vLLM 0.27: `ChatCompletionToolsParam.model_dump()`).
 */
export function templateTool({ name, description, inputSchema }: ToolSpec): JsonObject {
  return { type: 'function', function: { name, description: description ?? null, parameters: inputSchema } };
}

/** One template, or a list of named ones of which `tool_use` is for tools (as `transformers` chooses). */
function templateSources(value: Json | undefined): { readonly plain: string; readonly tools: string } {
  if (typeof value === 'string') return { plain: value, tools: value };
  if (!Array.isArray(value))
    throw new UsageError(PLACE, 'a template', value === undefined ? 'nothing' : typeof value);
  const named = new Map<Json, Json>();
  for (const entry of value as readonly Json[]) {
    if (typeof entry === 'object' && entry !== null && 'template' in entry)
      named.set(entry.name ?? null, entry.template ?? null);
  }
  const plain = named.get('default');
  const tools = named.get('tool_use') ?? plain;
  if (typeof plain !== 'string' || typeof tools !== 'string')
    throw new UsageError(PLACE, 'a template named default', `${[...named.keys()].join(', ') || 'none'}`);
  return { plain, tools };
}

/** Variables that every conversation brings. */
const OWN: ReadonlySet<string> = new Set(['messages', 'tools', 'add_generation_prompt', ...NAMED_TOKENS]);

/** A name that the template does not read would change nothing, unseen. */
function requireRead(options: JsonObject, source: string): void {
  for (const name of Object.keys(options)) {
    const place = `templateOptions.${name}`;
    if (OWN.has(name)) throw new UsageError(place, 'no variable that every conversation brings', name);
    if (!new RegExp(`(?<![\\w.])${name}(?!\\w)`).test(source))
      throw new UsageError(place, 'a variable that the chat template reads', 'no such name in it');
  }
}

function parsed(source: string): PythonTemplate {
  try {
    return new PythonTemplate(source);
  } catch (error) {
    // The parser reads past the end of its tokens.
    const found = error instanceof TypeError ? 'a statement that is not ended' : messageOf(error);
    throw new UsageError(PLACE, 'a Jinja template', found);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
