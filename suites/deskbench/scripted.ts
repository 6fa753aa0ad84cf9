/**
 * The scripted policy: the oracle behind the `Policy` interface, with mistakes and delays on demand. It costs next to
 * no CPU, so that tests and benchmarks of the orchestration measure the orchestration.
 *
 * It knows a task by its opening message, which is unique within the suite; everything else it learns as an agent does.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../core/faults.js';
import type { AssistantMessage, Message } from '../../core/message.js';
import type { Policy, PolicySession, PolicyTurn } from '../../core/policy.js';
import type { ScriptedSettings } from '../../core/scripted.js';
import { Draw } from './draw.js';
import { deskEntries } from './entries.js';
import { noisy, uniformRates } from './noise.js';
import { ScriptedAgent } from './oracle.js';
import type { DeskTask } from './scene.js';
import { steady } from './script.js';

/** The first turn throws `Fault('policy')` when the opening is no task's of this suite. */
export function createScriptedPolicy(settings: ScriptedSettings): Policy {
  const byOpening = new Map(deskEntries().map(({ task }) => [task.opening, task]));
  const rates = uniformRates(settings.errorRate);
  return {
    kind: 'scripted',
    async begin(request): Promise<PolicySession> {
      let agent: ScriptedAgent | undefined;
      return {
        tokens: () => undefined,
        async turn(observations, limits) {
          limits.signal.throwIfAborted();
          if (settings.turnDelayMs > 0)
            await sleep(settings.turnDelayMs, undefined, { signal: limits.signal });
          if (!agent) {
            const task = taskFor(byOpening, observations);
            const chooser =
              settings.errorRate > 0 ? noisy(new Draw(task.split, request.seed), rates) : steady;
            agent = new ScriptedAgent(task, chooser);
          }
          return turnOf(agent.next(observations));
        },
      };
    },
  };
}

function taskFor(byOpening: ReadonlyMap<string, DeskTask>, observations: readonly Message[]): DeskTask {
  const opening = observations.at(-1)?.content ?? '';
  const task = byOpening.get(opening);
  if (task) return task;
  throw new Fault('policy', `the scripted policy knows no task of deskbench that opens with "${opening}"`, {
    retry: false,
    code: 'unknown_task',
  });
}

function turnOf(message: AssistantMessage): PolicyTurn {
  return {
    message,
    finishReason: 'stop',
    problems: [],
    raw: message.content,
    promptTokens: 0,
    sampledTokens: 0,
    weightVersion: undefined,
  };
}
