/** Messages of one conversation, and tools as the policy sees them. JSON throughout. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A tool as offered to the policy: MCP's name, description and JSON schema of the arguments. */
export interface ToolSpec {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  /** True for a tool whose call ends the conversation. */
  readonly endsTurn?: boolean;
  /** Server that owns it; where absent, the first server with a tool of this name does. Never shown to the policy. */
  readonly server?: string;
}

export interface ToolCall {
  /** Unique within the episode: `c0`, `c1`, ... */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** The arguments as JSON text, where JavaScript's numbers are not as written (`core/exact-json.ts`). */
  readonly argumentsText?: string;
}

export type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly reasoning: string;
      readonly content: string;
      readonly toolCalls: readonly ToolCall[];
      /** A tool has said this to the user in the agent's place; no policy wrote it, and it is no turn. Absent: it is one. */
      readonly direct?: true | undefined;
    }
  | {
      readonly role: 'tool';
      readonly callId: string;
      readonly name: string;
      readonly content: string;
      readonly isError: boolean;
    };

export type AssistantMessage = Extract<Message, { role: 'assistant' }>;
export type ToolMessage = Extract<Message, { role: 'tool' }>;
