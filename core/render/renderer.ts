/**
 * Messages to token ids. The first prompt is rendered in full; every later turn is a delta that is appended to the
 * exact ids sampled before it, so nothing is ever tokenised twice. What the whole buffer then equals: docs/render.md.
 */
import { UsageError } from '../faults.js';
import type { JsonObject, Message, ToolSpec } from '../message.js';
import { fill, fits, type Skeleton, skeletonOf } from './skeleton.js';
import {
  ChatTemplate,
  joinSystem,
  type TemplateMessage,
  templateMessage,
  templateTool,
  tokenText,
} from './template.js';
import { Tokens } from './tokens.js';

export interface ModelFiles {
  /** `tokenizer.json`. */
  readonly tokenizer: JsonObject;
  /** `tokenizer_config.json`: `chat_template` and the named tokens are read here. */
  readonly config: JsonObject;
  /** Variables of the template beside those of every conversation, such as `enable_thinking`. */
  readonly templateOptions?: JsonObject;
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
/** How model families spell the control tokens of their templates. */
const CONTROL_SHAPE = /<\|[^<>|\s]+\|>/g;

interface Head {
  readonly skeleton: Skeleton | undefined;
  /** Ids of the text up to the last control token before the first hole, and the guarded text between. */
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

  /**
   * Throws `UsageError` for files that lack a template, an end-of-turn token or a control token of the template, or
   * cannot be read, and for options that the template does not know.
   */
  constructor(readonly files: ModelFiles) {
    const { tokenizer, config, templateOptions = {} } = files;
    this.template = new ChatTemplate(config, templateOptions);
    const eos = tokenText(config.eos_token);
    if (eos === undefined)
      throw new UsageError(
        'tokenizer_config.json: eos_token',
        'a token',
        JSON.stringify(config.eos_token) ?? 'nothing',
      );
    this.eos = eos;
    this.tokens = new Tokens(tokenizer, config);
    const id = this.tokens.id(eos);
    if (id === undefined)
      throw new UsageError('tokenizer.json: added_tokens', `the end-of-turn token ${eos}`, 'no such token');
    const endOfText = this.tokens.id('<|endoftext|>');
    this.stopIds = endOfText === undefined || endOfText === id ? [id] : [id, endOfText];
    this.checkControlTokens();
  }

  /** Ids of the first prompt, up to where the policy begins to write. */
  first(prompt: FirstPrompt): number[] {
    const { skeleton, ids, rest } = this.head(prompt);
    const messages = this.guarded(prompt.messages);
    const contents = messages.map((message) => message.content);
    // Calls and reasoning of earlier turns are no holes of a skeleton.
    const spoken = prompt.messages.some(({ role }) => role === 'assistant');
    if (!skeleton || spoken || !fits(contents))
      return this.tokens.encodeGuarded(this.render(this.guardedAround(prompt), messages));
    const pieces = [rest, ...skeleton.pieces.slice(1)];
    return [...ids, ...this.tokens.encodeGuarded(fill({ ...skeleton, pieces }, contents))];
  }

  /**
   * Ids between the last sampled token and the next one to be sampled. `ended`: the last sampled token was a stop
   * token; otherwise the turn was cut off and the delta begins by ending it.
   */
  delta(observations: readonly Message[], ended: boolean): number[] {
    const messages = this.guarded(observations);
    const contents = messages.map((message) => message.content);
    let text: string | undefined;
    if (fits(contents)) {
      const key = JSON.stringify(messages.map(({ role, name }) => [role, name]));
      const skeleton = remembered(this.deltas, key, () => skeletonOf(messages, (m) => this.deltaText(m)));
      if (skeleton) text = fill(skeleton, contents);
    }
    text ??= this.deltaText(messages);
    return this.tokens.encodeGuarded(ended ? text : this.eos + text);
  }

  /**
   * The first prompt, or any conversation, as text with the generation prompt at its end: what a serving engine renders,
   * with control-like text as it is.
   */
  firstPromptText(prompt: FirstPrompt): string {
    const { systemMessages } = prompt;
    const tools = prompt.tools.map(templateTool);
    return this.render({ systemMessages, tools }, prompt.messages.map(templateMessage));
  }

  /**
   * How the prompt leaves the reasoning: `open`, for the model to end it; `closed`, none is wanted; `absent`, the model
   * writes its own tags or none.
   */
  promptReasoning(): 'open' | 'closed' | 'absent' {
    const prompt = this.template.render([{ role: 'user', content: 'u' }], []);
    const tail = prompt.slice(prompt.lastIndexOf(this.eos) + this.eos.length);
    const [opened, closed] = [tail.lastIndexOf('<think>'), tail.lastIndexOf('</think>')];
    if (opened === closed) return 'absent';
    return opened > closed ? 'open' : 'closed';
  }

  private head(prompt: FirstPrompt): Head {
    const roles = prompt.messages.map((message) => message.role);
    const key = JSON.stringify([prompt.systemMessages, prompt.tools, roles]);
    return remembered(this.heads, key, () => {
      const around = this.guardedAround(prompt);
      const skeleton = skeletonOf(this.guarded(prompt.messages), (messages) => this.render(around, messages));
      const before = skeleton?.pieces[0] ?? '';
      const boundary = this.tokens.control.lastBoundary(before);
      const ids = this.tokens.encodeGuarded(before.slice(0, boundary));
      return { skeleton, ids, rest: before.slice(boundary) };
    });
  }

  private guarded(messages: readonly Message[]): TemplateMessage[] {
    return messages.map(
      (message) => this.tokens.control.guardJson(templateMessage(message)) as TemplateMessage,
    );
  }

  private guardedAround({ systemMessages, tools }: FirstPrompt) {
    const { control } = this.tokens;
    return {
      systemMessages: systemMessages.map((text) => control.guard(text)),
      tools: tools.map((tool) => control.guardJson(templateTool(tool)) as JsonObject),
    };
  }

  private render(
    around: { readonly systemMessages: readonly string[]; readonly tools: readonly JsonObject[] },
    messages: readonly TemplateMessage[],
  ): string {
    return this.template.render([...joinSystem(around.systemMessages), ...messages], around.tools);
  }

  /**
   * What the template puts between the end of an assistant's turn and the next one. It depends on no turn before: a
   * user's question stands first since templates ask for one.
   */
  private deltaText(messages: readonly TemplateMessage[]): string {
    const before = [
      { role: 'user', content: 'u' },
      { role: 'assistant', content: SAMPLED },
    ];
    const text = this.template.render([...before, ...messages], []);
    const after = text.slice(text.indexOf(SAMPLED) + SAMPLED.length);
    if (!text.includes(SAMPLED) || !after.startsWith(this.eos)) {
      throw new UsageError(
        'tokenizer_config.json: chat_template',
        `${this.eos} right after an assistant's content`,
        JSON.stringify(after.slice(0, 40)),
      );
    }
    return after.slice(this.eos.length);
  }

  /** A control token that the tokenizer does not know would be cut into plain text without a word. */
  private checkControlTokens(): void {
    const user = { role: 'user', content: 'u' };
    const text = this.template.render([user], []) + this.deltaText([user]);
    for (const [token] of text.matchAll(CONTROL_SHAPE)) {
      if (this.tokens.id(token) === undefined)
        throw new UsageError(
          'tokenizer.json: added_tokens',
          `the template's control token ${token}`,
          'no such token',
        );
    }
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
