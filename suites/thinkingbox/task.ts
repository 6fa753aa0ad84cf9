/** One hydrated case, for one episode. */
import { Fault, UsageError } from '../../core/faults.js';
import type { JsonObject, ToolSpec } from '../../core/message.js';
import type { Verdict } from '../../core/outcome.js';
import type { ServerSpec, ToolSession } from '../../core/sandbox.js';
import type { Effects, GradeInput, Task, TaskRef, UserBrief } from '../../core/suite.js';
import { type Bridge, BridgeError, BridgeLost } from './bridge.js';
import { gradedCase, type LoadedCase } from './protocol.js';
import { initialise, readEffects, shownTools } from './session.js';

/** A server imports some hundred modules: two seconds alone, much longer on a busy machine. */
const START_TIMEOUT_MS = 120_000;
/** A check compares two states; it takes milliseconds. */
const CHECK_TIMEOUT_MS = 60_000;

/** `forked`: sessions of warm servers, where these can be forked. `stdio`: a program for every session. */
export const SERVER_STARTS = ['forked', 'stdio'] as const;
export type ServerStart = (typeof SERVER_STARTS)[number];

export class ThinkingBoxTask implements Task {
  readonly servers: readonly ServerSpec[];
  readonly systemMessages: readonly string[];
  readonly user: UserBrief;
  readonly doneMarker: string;
  readonly maxAgentActions: number;
  /** The official runner checks the final state whatever ended the conversation. */
  readonly passesAtLimits = true;
  private initResult: JsonObject = {};

  /** Throws `UsageError` for a case that needs what the adapter cannot do yet. */
  constructor(
    readonly ref: TaskRef,
    private readonly loaded: LoadedCase,
    private readonly bridge: Bridge,
    env: Readonly<Record<string, string>>,
    servers: ServerStart = 'forked',
  ) {
    if (loaded.unsupported.length > 0) {
      throw new UsageError(`case ${ref.id}`, 'a case of supported form', loaded.unsupported.join(', '));
    }
    this.servers = loaded.servers.map(({ name, command, warm, env: own, cwd }) => ({
      name,
      command: { ...program(command, { ...env, ...own }), ...(cwd === null ? {} : { cwd }) },
      ...(warm === null || servers === 'stdio' ? {} : { warm: program(warm, { ...env, ...own }) }),
      startTimeoutMs: START_TIMEOUT_MS,
    }));
    this.systemMessages = loaded.systemMessages;
    this.user = {
      opening: loaded.opening,
      context: loaded.context,
      maxTurns: loaded.maxUserTurns,
      mayEnd: false,
    };
    this.doneMarker = loaded.doneMarker;
    // Python's "no limit" is larger than any safe integer.
    this.maxAgentActions = Math.min(loaded.maxAgentActions, Number.MAX_SAFE_INTEGER);
  }

  async init(tools: ToolSession, signal: AbortSignal): Promise<void> {
    this.initResult = await initialise(this.loaded.servers, tools, signal);
  }

  visibleTools(tools: ToolSession, signal: AbortSignal): Promise<readonly ToolSpec[]> {
    return shownTools(this.loaded, tools, signal);
  }

  effects(tools: ToolSession, signal: AbortSignal): Promise<Effects> {
    return readEffects(this.loaded.servers, tools, signal);
  }

  /** Undefined for servers whose wanted state only they know. */
  expectedEffects(): Effects {
    return Object.fromEntries(
      this.loaded.servers.flatMap(({ name, expected }) => (expected ? [[name, expected]] : [])),
    );
  }

  async grade({ effects, messages, judge, signal }: GradeInput): Promise<Verdict> {
    // A judge that failed ends the check, whatever the check makes of it.
    let judgeFault: unknown;
    const answer: NonNullable<Parameters<Bridge['request']>[0]['answer']> = async ({
      kind,
      system,
      user,
    }) => {
      try {
        const request = { system, user };
        return await (kind === 'yesno' ? judge.ask(request, signal) : judge.complete(request, signal));
      } catch (error) {
        judgeFault ??= error;
        throw error;
      }
    };
    const body = { name: this.ref.id, effects, messages, initResult: this.initResult };
    const reply = await this.bridge
      .request({ op: 'grade', body, reply: gradedCase, signal, timeoutMs: CHECK_TIMEOUT_MS, answer })
      .catch((error: unknown) => {
        throw judgeFault ?? graderFault(this.ref.id, error);
      });
    if (judgeFault) throw judgeFault;
    if (reply.systemError) throw checkFault(this.ref.id, reply.trace);
    return {
      passed: reply.passed,
      reward: reply.reward,
      reasons: reply.passed ? [] : [reply.reason],
      judged: reply.judged,
    };
  }
}

function program([file = '', ...args]: readonly string[], env: Readonly<Record<string, string>>) {
  return { file, args, env };
}

/** The check raised something other than an assertion: the fault carries Python's traceback as its stack. */
function checkFault(id: string, trace: string): Fault {
  const last = trace.trimEnd().split('\n').at(-1) ?? 'no message';
  const fault = new Fault('grader', `the check of ${id} raised ${last}`, { code: 'check' });
  fault.stack = `${fault.name}: ${fault.message}\n${trace}`;
  return fault;
}

function graderFault(id: string, error: unknown): unknown {
  if (error instanceof BridgeError) {
    const { code, message, trace } = error.failure;
    if (code === 'refused') return new Fault('judge', message, { code: 'unreadable' });
    return trace === undefined ? new Fault('grader', message, { cause: error }) : checkFault(id, trace);
  }
  if (error instanceof BridgeLost)
    return new Fault('grader', error.message, { cause: error, code: 'bridge_lost' });
  return error;
}
