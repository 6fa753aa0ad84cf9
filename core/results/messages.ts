/**
 * The conversation of a result row in our own form. Two forms are read:
 *
 *   tagged     {T: 'Text' | 'ToolCall' | 'ParallelToolCall' | 'ToolResponse', ...}, as `tb infer` writes them
 *   by role    {role, content, tool_calls}, as chat interfaces speak
 *
 * What one model turn was written as (thought, text, calls) becomes one assistant message. Anything that cannot be
 * read is left out and counted: a conversation is for reading, and no verdict hangs on it.
 */
import { valueAt } from '../json-row.js';
import type { AssistantMessage, Json, JsonObject, Message, ToolCall } from '../message.js';

export interface ReadMessages {
  readonly messages: readonly Message[];
  readonly toolCalls: number;
  /** Answers that say that the call failed, in the runner's own words. */
  readonly toolErrors: number;
  /** Visible turns of the agent. */
  readonly turns: number;
  /** Entries that are no message of either form. */
  readonly unread: number;
}

/** Null when the row carries no list of messages, or an empty one. */
export function readMessages(value: unknown): ReadMessages | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const reader = new Reader();
  for (const entry of value as unknown[]) reader.read(entry);
  return reader.end();
}

type Draft = { -readonly [field in keyof AssistantMessage]: AssistantMessage[field] };

class Reader {
  readonly #messages: Message[] = [];
  #draft: Draft | null = null;
  /** Calls whose arguments could not be read: their answers are errors whatever they say. */
  readonly #broken = new Set<string>();
  #unread = 0;

  read(entry: unknown): void {
    const tag = valueAt(entry, ['T']);
    if (tag === undefined) this.#byRole(entry);
    else if (tag === 'Text') this.#text(entry);
    else if (tag === 'ToolCall') this.#calls([entry]);
    else if (tag === 'ParallelToolCall') this.#calls(listAt(entry, 'tool_calls'));
    else if (tag === 'ToolResponse') this.#answer(entry, textAt(entry, 'id'));
    else this.#unread += 1;
  }

  end(): ReadMessages {
    this.#close();
    const answers = this.#messages.filter((message) => message.role === 'tool');
    const agent = this.#messages.filter((message) => message.role === 'assistant');
    return {
      messages: this.#messages,
      toolCalls: agent.reduce((sum, { toolCalls }) => sum + toolCalls.length, 0),
      toolErrors: answers.filter(({ isError }) => isError).length,
      turns: agent.length,
      unread: this.#unread,
    };
  }

  #text(entry: unknown): void {
    const role = valueAt(entry, ['role']);
    const content = contentText(valueAt(entry, ['content']));
    if (role === 'assistant') {
      const thought = valueAt(entry, ['metadata', 'tag']) === 'think';
      this.#say(thought ? content : '', thought ? '' : content);
    } else if (role === 'system' || role === 'user' || role === 'developer') {
      this.#push({ role: role === 'user' ? 'user' : 'system', content });
    } else this.#unread += 1;
  }

  #byRole(entry: unknown): void {
    const role = valueAt(entry, ['role']);
    if (role === 'tool') this.#answer(entry, textAt(entry, 'tool_call_id'));
    else if (role === 'assistant') this.#turn(entry);
    else this.#text(entry);
  }

  /** An entry that is a whole turn. */
  #turn(entry: unknown): void {
    this.#close();
    this.#say(textAt(entry, 'reasoning_content'), contentText(valueAt(entry, ['content'])));
    const calls = listAt(entry, 'tool_calls');
    if (calls.length > 0) this.#calls(calls);
    this.#close();
  }

  #say(reasoning: string, content: string): void {
    const draft = this.#open();
    draft.reasoning = joined(draft.reasoning, reasoning);
    draft.content = joined(draft.content, content);
  }

  #calls(entries: readonly unknown[]): void {
    const draft = this.#open();
    const calls: ToolCall[] = [...draft.toolCalls];
    for (const entry of entries) {
      const named = valueAt(entry, ['function']) ?? entry;
      const given = valueAt(named, ['arguments']);
      const read = argumentsOf(given);
      const id = textAt(entry, 'id') || `c${calls.length}`;
      if (read === null || textAt(valueAt(entry, ['metadata']), 'error') !== '') this.#broken.add(id);
      calls.push({ id, name: textAt(named, 'name'), arguments: read ?? { '(unreadable)': String(given) } });
    }
    draft.toolCalls = calls;
  }

  #answer(entry: unknown, callId: string): void {
    this.#close();
    const name = textAt(entry, 'name') || this.#nameOf(callId);
    const content = contentText(valueAt(entry, ['content']));
    this.#messages.push({
      role: 'tool',
      callId,
      name,
      content,
      isError: this.#broken.has(callId) || saysError(content),
    });
  }

  #nameOf(callId: string): string {
    for (const message of this.#messages) {
      const call = message.role === 'assistant' && message.toolCalls.find(({ id }) => id === callId);
      if (call) return call.name;
    }
    return '';
  }

  #open(): Draft {
    this.#draft ??= { role: 'assistant', reasoning: '', content: '', toolCalls: [] };
    return this.#draft;
  }

  #push(message: Message): void {
    this.#close();
    this.#messages.push(message);
  }

  #close(): void {
    if (this.#draft) this.#messages.push(this.#draft);
    this.#draft = null;
  }
}

/** `Error: ...` and `Error calling tool ...` as texts, `{"error": ...}` and `{"status": "error"}` as documents. */
function saysError(content: string): boolean {
  const text = content.trimStart();
  if (/^error\b/i.test(text)) return true;
  if (!text.startsWith('{')) return false;
  const value = parsed(text);
  const error = valueAt(value, ['error']);
  return (error !== undefined && error !== null && error !== false) || valueAt(value, ['status']) === 'error';
}

function argumentsOf(value: unknown): JsonObject | null {
  const read = typeof value === 'string' ? parsed(value) : value;
  const isObject = typeof read === 'object' && read !== null && !Array.isArray(read);
  return isObject ? (read as { readonly [key: string]: Json }) : null;
}

/** Undefined for text that is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A text, or the texts of a list of parts. */
function contentText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return (value as unknown[]).map((part) => textAt(part, 'text')).join('');
  return JSON.stringify(value);
}

function textAt(value: unknown, field: string): string {
  const text = valueAt(value, [field]);
  return typeof text === 'string' ? text : '';
}

function listAt(value: unknown, field: string): readonly unknown[] {
  const list = valueAt(value, [field]);
  return Array.isArray(list) ? (list as unknown[]) : [];
}

function joined(before: string, more: string): string {
  return before === '' || more === '' ? before + more : `${before}\n\n${more}`;
}
