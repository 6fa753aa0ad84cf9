/**
 * Messages to token ids. The first prompt is rendered in full; every later turn is a delta that is appended to the
 * exact ids sampled before it, so nothing is ever tokenised twice and the whole buffer equals a full render except
 * where the model sampled something else.
 */
import { UsageError } from '../faults.js';
import type { JsonObject, Message, ToolSpec } from '../message.js';
import { fill, type Skeleton, skeletonOf } from './skeleton.js';
import { ChatTemplate, joinSystem, type TemplateMessage, templateMessage, templateTool } from './template.js';
import { Tokens } from './tokens.js';

export interface ModelFiles {
  /** `tokenizer.json`. */
  readonly tokenizer: JsonObject;
  /** `tokenizer_config.json`: `chat_template` and `eos_token` are read here. */
  readonly config: JsonObject;
}

export interface FirstPrompt {
  readonly systemMessages: readonly string[];
  readonly tools: readonly ToolSpec[];
  readonly messages: readonly Message[];
}

/** Shapes of turns that are kept; a campaign has a few dozen. */
const CACHE_SIZE = 512;
/** Content of the assistant message before a delta; no template writes it. */
const SAMPLED = '\uE004';

interface Head {
  readonly skeleton: Skeleton | undefined;
  /** Ids of the text up to the last control token before the first hole, and the text between. */
  readonly ids: readonly number[];
  readonly rest: string;
}

export class Renderer {
  readonly tokens: Tokens;
  /** Ids that end a turn. */
  readonly stopIds: readonly number[];
  private readonly template: ChatTemplate;
  private readonly eos: string;
  private readonly heads = new Map<string, Head>();
  private readonly deltas = new Map<string, Skeleton | undefined>();

  /** Throws `UsageError` for files that lack a template, an end-of-turn token, or cannot be read. */
  constructor(readonly files: ModelFiles) {
    const { chat_template: source, eos_token: eos } = files.config;
    if (typeof source !== 'string')
      throw new UsageError('tokenizer_config.json: chat_template', 'a template', typeof source);
    const token = typeof eos === 'object' && eos !== null && 'content' in eos ? eos.content : eos;
    if (typeof token !== 'string')
      throw new UsageError('tokenizer_config.json: eos_token', 'a token', typeof eos);
    this.tokens = new Tokens(files.tokenizer, files.config);
    this.template = new ChatTemplate(source);
    this.eos = token;
    const id = this.tokens.id(token);
    if (id === undefined)
      throw new UsageError('tokenizer.json', `the end-of-turn token ${token}`, 'no such token');
    const endOfText = this.tokens.id('<|endoftext|>');
    this.stopIds = endOfText === undefined || endOfText === id ? [id] : [id, endOfText];
  }

  /** Ids of the first prompt, up to where the policy begins to write. */
  first(prompt: FirstPrompt): number[] {
    const { skeleton, ids, rest } = this.head(prompt);
    const contents = prompt.messages.map((message) => message.content);
    if (!skeleton || contents.some((content) => this.tokens.control.occursIn(content)))
      return this.firstAnew(prompt);
    const pieces = [rest, ...skeleton.pieces.slice(1)];
    return [...ids, ...this.tokens.encode(fill({ ...skeleton, pieces }, contents))];
  }

  /**
   * Ids between the last sampled token and the next one to be sampled. `ended`: the last sampled token was a stop
   * token; otherwise the turn was cut off and the delta begins by ending it.
   */
  delta(observations: readonly Message[], ended: boolean): number[] {
    const marked: string[] = [];
    const messages = this.guarded(observations, marked);
    const key = observations.map((m) => (m.role === 'tool' ? `tool ${m.name}` : m.role)).join('\n');
    const skeleton = remembered(this.deltas, key, () => skeletonOf(messages, (m) => this.deltaText(m)));
    const contents = messages.map((message) => message.content);
    const text = skeleton ? fill(skeleton, contents) : this.deltaText(messages);
    return this.tokens.encodeMarked(ended ? text : this.eos + text, marked);
  }

  /** The first prompt as text, for parity checks; control-like text in it is not guarded. */
  firstPromptText(prompt: FirstPrompt): string {
    return this.render(prompt, prompt.messages.map(templateMessage), prompt.tools.map(templateTool));
  }

  private head(prompt: FirstPrompt): Head {
    const roles = prompt.messages.map((message) => message.role);
    const key = JSON.stringify([prompt.systemMessages, prompt.tools, roles]);
    return remembered(this.heads, key, () => {
      const marked: string[] = [];
      const around = this.guardedAround(prompt, marked);
      const shapes = prompt.messages.map(templateMessage);
      // Control-like text in a system message or a tool: rare enough to be rendered anew every time.
      const skeleton =
        marked.length > 0
          ? undefined
          : skeletonOf(shapes, (messages) => this.render(around, messages, around.toolShapes));
      const before = skeleton?.pieces[0] ?? '';
      const boundary = this.tokens.control.lastBoundary(before);
      return { skeleton, ids: this.tokens.encode(before.slice(0, boundary)), rest: before.slice(boundary) };
    });
  }

  private firstAnew(prompt: FirstPrompt): number[] {
    const marked: string[] = [];
    const around = this.guardedAround(prompt, marked);
    const text = this.render(around, this.guarded(prompt.messages, marked), around.toolShapes);
    return this.tokens.encodeMarked(text, marked);
  }

  private guarded(messages: readonly Message[], marked: string[]): TemplateMessage[] {
    return messages.map((message) => ({
      ...templateMessage(message),
      role: message.role,
      content: this.tokens.control.guard(message.content, marked),
    }));
  }

  private guardedAround(prompt: FirstPrompt, marked: string[]) {
    const { control } = this.tokens;
    return {
      systemMessages: prompt.systemMessages.map((text) => control.guard(text, marked)),
      toolShapes: prompt.tools.map((tool) => control.guardJson(templateTool(tool), marked) as JsonObject),
    };
  }

  private render(
    { systemMessages }: Pick<FirstPrompt, 'systemMessages'>,
    messages: readonly TemplateMessage[],
    tools: readonly JsonObject[],
  ): string {
    return this.template.render([...joinSystem(systemMessages), ...messages], tools);
  }

  /** What the template puts between the end of an assistant's turn and the next one. */
  private deltaText(messages: readonly TemplateMessage[]): string {
    const before = [
      { role: 'user', content: 'u' },
      { role: 'assistant', content: SAMPLED },
    ];
    const text = this.template.render([...before, ...messages], []);
    const after = text.slice(text.indexOf(SAMPLED) + SAMPLED.length);
    if (!text.includes(SAMPLED) || !after.startsWith(this.eos)) {
      throw new UsageError(
        'chat template',
        `${this.eos} right after an assistant's content`,
        JSON.stringify(after.slice(0, 40)),
      );
    }
    return after.slice(this.eos.length);
  }
}

/** Least recently made is forgotten first. */
function remembered<T>(cache: Map<string, T>, key: string, make: () => T): T {
  const known = cache.get(key);
  if (known !== undefined || cache.has(key)) return known as T;
  if (cache.size >= CACHE_SIZE) {
    for (const oldest of cache.keys()) {
      cache.delete(oldest);
      break;
    }
  }
  const made = make();
  cache.set(key, made);
  return made;
}
