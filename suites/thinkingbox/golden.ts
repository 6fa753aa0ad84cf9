/**
 * Scripted policies: one that plays a given list of calls, and one that plays the golden calls of whatever case it
 * meets. Test material only: never shown to a model, never probed or trained on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { losesForm } from '../../core/exact-json.js';
import { Fault, UsageError } from '../../core/faults.js';
import type { AssistantMessage, Message, ToolCall } from '../../core/message.js';
import type { Policy, PolicyRequest, PolicyTurn } from '../../core/policy.js';
import { randomStream } from '../../core/random.js';
import type { ScriptedSettings } from '../../core/scripted.js';
import type { Suite } from '../../core/suite.js';
import type { ScriptedCall } from './protocol.js';
import type { ThinkingBoxSuite } from './suite.js';

const FAREWELL = 'All of this is settled. <DONE>';

/** One call a turn, in order, then the farewell. One object serves any number of episodes. */
export function replayPolicy(calls: readonly ScriptedCall[], turnDelayMs = 0): Policy {
  return scripted(async () => calls, turnDelayMs);
}

/**
 * Plays the golden calls of the episode's task; leaves out each with probability `errorRate`, drawn from the seed.
 * Throws `UsageError` for a suite that knows no golden calls; its first turn throws `Fault('policy')` for a task
 * that cannot be told from another by its opening message.
 */
export function goldenPolicy(suite: Suite, settings: ScriptedSettings): Policy {
  if (!knowsGolden(suite))
    throw new UsageError('scripted policy', 'the suite thinkingbox', `"${suite.name}"`);
  return scripted(async (request, opening) => {
    const id = request.taskId ?? (await onlyTask(suite, opening));
    const golden = await suite.goldenCalls(id);
    const stream = randomStream('golden', request.seed);
    return golden.filter(() => stream.uint32() / 2 ** 32 >= settings.errorRate);
  }, settings.turnDelayMs);
}

function scripted(
  script: (request: PolicyRequest, opening: string) => Promise<readonly ScriptedCall[]>,
  turnDelayMs: number,
): Policy {
  return {
    kind: 'scripted',
    begin: async (request) => {
      let calls: readonly ScriptedCall[] | undefined;
      let played = 0;
      return {
        tokens: () => undefined,
        turn: async (observations, { signal }) => {
          signal.throwIfAborted();
          if (turnDelayMs > 0) await sleep(turnDelayMs, undefined, { signal });
          calls ??= await script(request, openingOf(observations));
          const call = calls[played];
          const id = `c${played}`;
          played += 1;
          return turnOf({
            role: 'assistant',
            reasoning: '',
            content: call ? '' : FAREWELL,
            toolCalls: call ? [{ id, ...written(call) }] : [],
          });
        },
      };
    },
  };
}

function written({ name, arguments: args, argumentsText }: ScriptedCall): Omit<ToolCall, 'id'> {
  return { name, arguments: args, ...(losesForm(argumentsText) ? { argumentsText } : {}) };
}

async function onlyTask(suite: ThinkingBoxSuite, opening: string): Promise<string> {
  const [id, ...others] = await suite.tasksOpening(opening);
  if (id !== undefined && others.length === 0) return id;
  const found = id === undefined ? 'no task' : `${others.length + 1} tasks, ${[id, ...others].join(', ')},`;
  throw new Fault('policy', `the scripted policy knows ${found} that open with "${opening.trim()}"`, {
    retry: false,
    code: 'unknown_task',
  });
}

function openingOf(observations: readonly Message[]): string {
  return observations.at(-1)?.content ?? '';
}

function knowsGolden(suite: Suite): suite is ThinkingBoxSuite {
  return 'goldenCalls' in suite && 'tasksOpening' in suite;
}

function turnOf(message: AssistantMessage): PolicyTurn {
  const { content, toolCalls } = message;
  return {
    message,
    finishReason: 'stop',
    problems: [],
    raw: JSON.stringify({ content, toolCalls }),
    promptTokens: 0,
    sampledTokens: 0,
    weightVersion: undefined,
  };
}
