/**
 * The tool calls of one turn, in the order written. What the agent does wrong is an observation; what the sandbox
 * does wrong is a fault, marked as having fallen inside one of the agent's own calls.
 */
import { asFault, Fault } from '../../core/faults.js';
import type { ToolCall, ToolMessage, ToolSpec } from '../../core/message.js';
import type { ToolSession } from '../../core/sandbox.js';
import { hideSecrets } from '../../core/secrets.js';
import type { Task } from '../../core/suite.js';
import { refusal } from './record.js';

/** Tools by name as the policy sees them, and the server that each call goes to. */
export class Toolbox {
  private readonly byName: ReadonlyMap<string, ToolSpec>;
  private owners: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(
    visible: readonly ToolSpec[],
    private readonly session: ToolSession,
  ) {
    this.byName = new Map(visible.map((spec) => [spec.name, spec]));
  }

  spec(name: string): ToolSpec | undefined {
    return this.byName.get(name);
  }

  get names(): readonly string[] {
    return [...this.byName.keys()];
  }

  /** Undefined for a tool that only ends the conversation: a suite may offer one that no server has. */
  async server(spec: ToolSpec, signal: AbortSignal): Promise<string | undefined> {
    if (spec.server !== undefined) return spec.server;
    this.owners ??= this.session
      .list(signal)
      .then((all) => new Map(all.toReversed().map((tool) => [tool.name, tool.server])));
    const owner = (await this.owners).get(spec.name);
    if (owner === undefined && !spec.endsTurn)
      throw new Fault('sandbox', `no server offers the visible tool "${spec.name}"`);
    return owner;
  }
}

export interface CallOptions {
  readonly toolbox: Toolbox;
  readonly session: ToolSession;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Reasons by call id: such a call is not executed. */
  readonly refused: ReadonlyMap<string, string> | undefined;
}

/** What came of a call: the observation, and what the tool says to the user itself. */
export interface Answered {
  readonly message: ToolMessage;
  readonly said: string | null;
}

/** One call, and what the task makes of the tool's answer. Throws as `executeCall`, and `Fault('suite')`. */
export async function answerCall(
  task: Pick<Task, 'toolSays'>,
  call: ToolCall,
  options: CallOptions,
): Promise<Answered> {
  const message = await executeCall(call, options);
  // What was never executed has no answer.
  const executed = !options.refused?.has(call.id) && options.toolbox.spec(call.name) !== undefined;
  const says = executed && (await task.toolSays?.(call.name, message.content, options.signal));
  if (!says) return { message, said: null };
  return { message: { ...message, content: says.content }, said: says.said };
}

/** The observation of one call. Throws `Fault` with `duringToolCall`, or the signal's reason. */
async function executeCall(call: ToolCall, options: CallOptions): Promise<ToolMessage> {
  const reason = options.refused?.get(call.id);
  if (reason !== undefined) return refusal(call, reason);
  const spec = options.toolbox.spec(call.name);
  if (!spec) return refusal(call, `unknown tool "${call.name}", known: ${options.toolbox.names.join(', ')}`);
  try {
    const server = await options.toolbox.server(spec, options.signal);
    if (server === undefined) return ending(call);
    const { signal, timeoutMs } = options;
    const exact = call.argumentsText === undefined ? {} : { exact: call.argumentsText };
    const result = await options.session.call(server, call.name, call.arguments, {
      signal,
      timeoutMs,
      ...exact,
    });
    // A server that has a key, e.g. of a search service, may repeat it.
    const content = hideSecrets(result.text);
    return { role: 'tool', callId: call.id, name: call.name, content, isError: result.isError };
  } catch (error) {
    if (options.signal.aborted) throw error;
    const fault = asFault(error, 'sandbox');
    throw new Fault(fault.kind, fault.message, {
      cause: fault.cause ?? error,
      retry: fault.retry,
      duringToolCall: true,
      ...(fault.code === undefined ? {} : { code: fault.code }),
    });
  }
}

/** The call has done all that it does. */
function ending(call: ToolCall): ToolMessage {
  return { role: 'tool', callId: call.id, name: call.name, content: '', isError: false };
}
