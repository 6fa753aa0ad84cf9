/**
 * Checks of a suite, whatever its tasks: its oracle passes everything, doing nothing passes at most one task, grading
 * the same end twice gives the same verdict, and one write left out, repeated, added elsewhere or altered fails.
 *
 * Sandboxes are real; nothing else of the harness is involved.
 */
import type { AssistantMessage, Message, ToolCall } from '../core/message.js';
import type { Verdict } from '../core/outcome.js';
import { type Prompt, type ToldBrief, userPrompt } from '../core/prompts.js';
import type { Sandbox, SandboxDriver } from '../core/sandbox.js';
import type { Effects, Judge, Suite, Task } from '../core/suite.js';

/** What a suite brings for its own check. */
export interface SuiteOracle {
  /** An agent that solves the task from what it is told and observes. */
  agent(taskId: string): { next(observations: readonly Message[]): AssistantMessage };
  /** The same call on something else that exists, so that it succeeds and is wrong; undefined where there is none. */
  altered(taskId: string, call: ToolCall): ToolCall | undefined;
}

export interface SuiteCheckDeps {
  readonly driver: SandboxDriver;
  readonly oracle: SuiteOracle;
  /** The simulated user. */
  readonly answer: (prompt: Prompt) => Promise<string>;
  readonly judge: Judge;
  readonly signal: AbortSignal;
  /** Called after each task. */
  readonly onTask?: (done: number, all: number) => void;
}

export interface SuiteProblem {
  readonly task: string;
  readonly what: string;
}

export interface SuiteCheckReport {
  readonly tasks: number;
  readonly oraclePassed: number;
  /** Tasks that pass when nothing is done; one is tolerated. */
  readonly nothingPassed: readonly string[];
  /** Altered endings that were tried, all of which must fail. */
  readonly alterations: number;
  /** Calls of the oracle, per task: fewest and most. */
  readonly calls: { readonly least: number; readonly most: number };
  readonly problems: readonly SuiteProblem[];
}

const MAX_TURNS = 60;
const CALL_TIMEOUT_MS = 30_000;
const TOLERATED_NOTHING = 1;

/** Runs every task of the suite several times. Throws only faults of sandbox, suite, grader or judge. */
export async function checkSuite(suite: Suite, deps: SuiteCheckDeps): Promise<SuiteCheckReport> {
  const refs = await suite.tasks();
  const problems: SuiteProblem[] = [];
  const nothingPassed: string[] = [];
  const callCounts: number[] = [];
  let oraclePassed = 0;
  let alterations = 0;
  for (const [index, { id }] of refs.entries()) {
    const lab = new TaskLab(suite, id, deps);
    const solved = await lab.solve();
    callCounts.push(solved.calls.length);
    if (solved.verdict.passed) oraclePassed++;
    else problems.push({ task: id, what: `the oracle fails: ${solved.verdict.reasons.join('; ')}` });
    if (JSON.stringify(solved.verdict) !== JSON.stringify(solved.again)) {
      problems.push({ task: id, what: 'grading the same end twice gave two verdicts' });
    }
    if ((await lab.replay([], solved.messages.slice(0, lab.openingLength))).verdict.passed)
      nothingPassed.push(id);
    for (const { what, calls } of alteredEndings(solved.calls, (call) => deps.oracle.altered(id, call))) {
      const ending = await lab.replay(calls, solved.messages);
      if (JSON.stringify(ending.effects) === JSON.stringify(solved.effects)) continue;
      alterations++;
      if (ending.verdict.passed) problems.push({ task: id, what: `passes although ${what}` });
    }
    deps.onTask?.(index + 1, refs.length);
  }
  if (nothingPassed.length > TOLERATED_NOTHING) {
    problems.push({ task: nothingPassed.join(', '), what: 'pass when nothing is done; one at most may' });
  }
  const calls = { least: Math.min(...callCounts), most: Math.max(...callCounts) };
  return { tasks: refs.length, oraclePassed, nothingPassed, alterations, calls, problems };
}

interface TriedCall {
  readonly call: ToolCall;
  /** Whether the effects were others after it. */
  readonly wrote: boolean;
}

interface Solved {
  readonly messages: readonly Message[];
  readonly calls: readonly TriedCall[];
  readonly effects: Effects;
  readonly verdict: Verdict;
  readonly again: Verdict;
}

/** For each write of the oracle: left out, repeated, done elsewhere instead, and done elsewhere in addition. */
function alteredEndings(
  calls: readonly TriedCall[],
  altered: (call: ToolCall) => ToolCall | undefined,
): { what: string; calls: readonly ToolCall[] }[] {
  const all = calls.map(({ call }) => call);
  return calls.flatMap(({ call, wrote }, at) => {
    if (!wrote) return [];
    const endings = [
      { what: `${call.name} is missing`, calls: all.toSpliced(at, 1) },
      { what: `${call.name} was made twice`, calls: all.toSpliced(at, 0, call) },
    ];
    const other = altered(call);
    if (!other) return endings;
    return [
      ...endings,
      { what: `${call.name} was made elsewhere`, calls: all.toSpliced(at, 1, other) },
      { what: `${call.name} was made elsewhere too`, calls: [...all, other] },
    ];
  });
}

/** Fresh sandboxes of one task. */
class TaskLab {
  /** Messages before the agent's first turn: system messages and the opening. */
  openingLength = 0;
  private made = 0;

  constructor(
    private readonly suite: Suite,
    private readonly id: string,
    private readonly deps: SuiteCheckDeps,
  ) {}

  /** The oracle's whole conversation. */
  solve(): Promise<Solved> {
    return this.inSandbox(async (task, sandbox) => {
      const agent = this.deps.oracle.agent(this.id);
      const system: Message[] = task.systemMessages.map((content) => ({ role: 'system', content }));
      const opening: Message = { role: 'user', content: task.user.opening };
      const messages: Message[] = [...system, opening];
      this.openingLength = messages.length;
      const calls: TriedCall[] = [];
      let observations: readonly Message[] = [opening];
      for (let turn = 0; turn < MAX_TURNS; turn++) {
        const message = agent.next(observations);
        messages.push(message);
        if (message.content.includes(task.doneMarker)) break;
        observations =
          message.toolCalls.length > 0
            ? await this.observe(task, sandbox, message.toolCalls, calls)
            : [{ role: 'user', content: await this.deps.answer(userPrompt(toldOf(task), messages)) }];
        messages.push(...observations);
      }
      const effects = await task.effects(sandbox.tools, this.deps.signal);
      const verdict = await this.grade(task, sandbox, effects, messages);
      return { messages, calls, effects, verdict, again: await this.grade(task, sandbox, effects, messages) };
    });
  }

  /** The given calls on a fresh sandbox, graded with the given messages. */
  replay(
    calls: readonly ToolCall[],
    messages: readonly Message[],
  ): Promise<{ effects: Effects; verdict: Verdict }> {
    return this.inSandbox(async (task, sandbox) => {
      for (const call of calls) await this.send(sandbox, call);
      const effects = await task.effects(sandbox.tools, this.deps.signal);
      return { effects, verdict: await this.grade(task, sandbox, effects, messages) };
    });
  }

  private async observe(
    task: Task,
    sandbox: Sandbox,
    calls: readonly ToolCall[],
    tried: TriedCall[],
  ): Promise<Message[]> {
    const told: Message[] = [];
    for (const call of calls) {
      const before = JSON.stringify(await task.effects(sandbox.tools, this.deps.signal));
      const { text, isError } = await this.send(sandbox, call);
      const after = JSON.stringify(await task.effects(sandbox.tools, this.deps.signal));
      tried.push({ call, wrote: before !== after });
      told.push({ role: 'tool', callId: call.id, name: call.name, content: text, isError });
    }
    return told;
  }

  private async send(sandbox: Sandbox, call: ToolCall) {
    const { signal } = this.deps;
    const tool = (await sandbox.tools.list(signal)).find(({ name }) => name === call.name);
    if (!tool) return { text: `no tool ${call.name}`, isError: true };
    return sandbox.tools.call(tool.server, call.name, call.arguments, { signal, timeoutMs: CALL_TIMEOUT_MS });
  }

  private grade(
    task: Task,
    { tools }: Sandbox,
    effects: Effects,
    messages: readonly Message[],
  ): Promise<Verdict> {
    const { judge, signal } = this.deps;
    return task.grade({ effects, messages, termination: 'done', judge, tools, signal });
  }

  private async inSandbox<T>(work: (task: Task, sandbox: Sandbox) => Promise<T>): Promise<T> {
    const { driver, signal } = this.deps;
    const task = await this.suite.load(this.id);
    const name = `check-${this.id.replace(/[^a-z0-9]+/gi, '-')}-${++this.made}`;
    const sandbox = await driver.create({ name, servers: task.servers, signal });
    try {
      await task.init(sandbox.tools, signal);
      return await work(task, sandbox);
    } finally {
      await sandbox.release();
    }
  }
}

function toldOf({ user, doneMarker }: Task): ToldBrief {
  return { ...user, doneMarker };
}
