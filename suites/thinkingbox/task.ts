/** One hydrated case, for one episode. */
import { Fault } from '../../core/faults.js';
import type { JsonObject, Message, ToolSpec } from '../../core/message.js';
import type { Verdict } from '../../core/outcome.js';
import type { ServerSpec, ToolSession } from '../../core/sandbox.js';
import type {
  AskUser,
  Effects,
  GradeInput,
  Judge,
  Task,
  TaskRef,
  ToolSaid,
  UserBrief,
} from '../../core/suite.js';
import { type Bridge, BridgeError, BridgeLost, type BridgeRequest } from './bridge.js';
import { type ContainerForm, contained } from './container.js';
import {
  type BridgeQuestion,
  gradedCase,
  keptEffects,
  type LoadedCase,
  type OpeningWords,
  openingWords,
  toolSaid,
  userMessage,
} from './protocol.js';
import {
  initialise,
  type ListedTool,
  playHistory,
  readStates,
  type SaidBy,
  shownTools,
  tearDown,
} from './session.js';

/** A server imports some hundred modules: two seconds alone, much longer on a busy machine. */
const START_TIMEOUT_MS = 120_000;
/** A check compares two states; it takes milliseconds. */
const CHECK_TIMEOUT_MS = 60_000;

/** `forked`: sessions of warm servers, where these can be forked. `stdio`: a program for every session. */
export const SERVER_STARTS = ['forked', 'stdio'] as const;
export type ServerStart = (typeof SERVER_STARTS)[number];

export interface TaskOptions {
  readonly servers?: ServerStart;
  /** Whether its servers have a search service. */
  readonly searches?: boolean;
  /** The image of its servers, where they run in containers. */
  readonly container?: ContainerForm;
}

export class ThinkingBoxTask implements Task {
  readonly servers: readonly ServerSpec[];
  readonly history: readonly Message[];
  readonly doneMarker: string;
  readonly maxAgentActions: number;
  /** The official runner checks the final state whatever ended the conversation. */
  readonly passesAtLimits = true;
  /** The official loop ends before it comes to the calls. */
  readonly endingTurnsCallNothing = true;
  private readonly searches: boolean;
  private words: OpeningWords;
  private listed: readonly ListedTool[] = [];
  private initResult: SaidBy = {};
  /** The reported states as text: numbers must reach the check as the servers wrote them. */
  private states: SaidBy = {};

  constructor(
    readonly ref: TaskRef,
    private readonly loaded: LoadedCase,
    private readonly bridge: Bridge,
    env: Readonly<Record<string, string>>,
    { servers = 'forked', searches = false, container }: TaskOptions = {},
  ) {
    this.servers = loaded.servers.map((server) => {
      const { name, command, warm, env: own, cwd } = server;
      const inContainer = container && contained(server, container);
      return {
        name,
        command: { ...program(command, { ...own, ...env }), ...(cwd === null ? {} : { cwd }) },
        ...(warm === null || servers === 'stdio' ? {} : { warm: program(warm, { ...own, ...env }) }),
        ...(inContainer === undefined ? {} : { container: inContainer }),
        startTimeoutMs: START_TIMEOUT_MS,
      };
    });
    this.searches = searches;
    this.history = loaded.history;
    this.words = loaded;
    this.doneMarker = loaded.doneMarker;
    // Python's "no limit" is larger than any safe integer.
    this.maxAgentActions = Math.min(loaded.maxAgentActions, Number.MAX_SAFE_INTEGER);
  }

  get systemMessages(): readonly string[] {
    return this.words.systemMessages;
  }

  get user(): UserBrief {
    const { opening, context } = this.words;
    return { opening, context, maxTurns: this.loaded.maxUserTurns, mayEnd: false };
  }

  async init(tools: ToolSession, signal: AbortSignal): Promise<void> {
    const { servers, formatted } = this.loaded;
    this.listed = await tools.list(signal);
    this.initResult = await initialise(servers, this.listed, tools, signal);
    if (formatted) {
      const body = { name: this.ref.id, initResult: this.initResult };
      this.words = await this.ask({ op: 'opening', body, reply: openingWords, signal });
    }
    await playHistory(this.loaded, this.listed, tools, signal);
  }

  async visibleTools(): Promise<readonly ToolSpec[]> {
    return shownTools(this.loaded, this.listed);
  }

  async toolSays(tool: string, answer: string, signal: AbortSignal): Promise<ToolSaid | undefined> {
    if (!this.loaded.directTools.includes(tool)) return undefined;
    return this.ask({
      op: 'direct',
      body: { name: this.ref.id, tool, text: answer },
      reply: toolSaid,
      signal,
    });
  }

  /** By the official simulated user's own code: its words, and its reading of the answer. */
  async userMessage(messages: readonly Message[], ask: AskUser, signal: AbortSignal): Promise<string> {
    let fault: unknown;
    const answer = async (question: BridgeQuestion): Promise<string> => {
      try {
        if (question.kind === 'tool') throw new Fault('suite', 'the simulated user asked for a tool');
        return await ask(question);
      } catch (error) {
        fault ??= error;
        throw error;
      }
    };
    const body = { name: this.ref.id, messages, context: this.words.context };
    try {
      return await this.ask({ op: 'user', body, reply: userMessage, signal, answer });
    } catch (error) {
      throw fault ?? error;
    }
  }

  async effects(tools: ToolSession, signal: AbortSignal): Promise<Effects> {
    this.states = await readStates(this.loaded.servers, this.listed, tools, signal);
    const body = { name: this.ref.id, effects: this.states };
    return this.ask({ op: 'effects', body, reply: keptEffects, signal });
  }

  /** A session without a search service holds nothing anywhere. */
  async end(tools: ToolSession, signal: AbortSignal): Promise<void> {
    if (this.searches) await tearDown(this.listed, tools, signal);
  }

  /** Undefined for servers whose wanted state only they know. */
  expectedEffects(): Effects {
    return Object.fromEntries(
      this.loaded.servers.flatMap(({ name, expected }) => (expected ? [[name, expected]] : [])),
    );
  }

  async grade({ messages, judge, tools, signal }: GradeInput): Promise<Verdict> {
    // A judge or a sandbox that failed ends the check, whatever the check makes of it.
    let fault: unknown;
    const answer = async (question: BridgeQuestion) => {
      try {
        return await answerTo(question, judge, tools, signal);
      } catch (error) {
        fault ??= error;
        throw error;
      }
    };
    const body = {
      name: this.ref.id,
      effects: this.states,
      messages,
      given: this.systemMessages.length + this.history.length,
      initResult: this.initResult,
    };
    const reply = await this.bridge
      .request({ op: 'grade', body, reply: gradedCase, signal, timeoutMs: CHECK_TIMEOUT_MS, answer })
      .catch((error: unknown) => {
        throw fault ?? graderFault(this.ref.id, error);
      });
    if (fault) throw fault;
    if (reply.systemError) throw checkFault(this.ref.id, reply.trace);
    return {
      passed: reply.passed,
      reward: reply.reward,
      reasons: reply.passed ? [] : [reply.reason],
      judged: reply.judged,
    };
  }

  /** Throws `Fault('suite')` with what the bridge says. */
  private async ask<T>(request: Omit<BridgeRequest<T>, 'timeoutMs'>): Promise<T> {
    try {
      return await this.bridge.request({ ...request, timeoutMs: CHECK_TIMEOUT_MS });
    } catch (error) {
      if (error instanceof BridgeError || error instanceof BridgeLost) {
        const badInput = error instanceof BridgeError && error.failure.code === 'bad_input';
        throw new Fault('suite', error.message, { cause: error, ...(badInput ? { retry: false } : {}) });
      }
      throw error;
    }
  }
}

/** What a check asks while it runs: the judge, or a tool of the live session. */
async function answerTo(
  question: BridgeQuestion,
  judge: Judge,
  tools: ToolSession,
  signal: AbortSignal,
): Promise<string | boolean> {
  if (question.kind === 'tool') {
    const { server, tool, arguments: exact } = question;
    const args = JSON.parse(exact) as JsonObject;
    return (await tools.call(server, tool, args, { signal, timeoutMs: CHECK_TIMEOUT_MS, exact })).text;
  }
  const { kind, system, user } = question;
  return kind === 'yesno' ? judge.ask({ system, user }, signal) : judge.complete({ system, user }, signal);
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
