/** What `checkSuite` needs of deskbench: its oracle, wrong calls that succeed, and the rule-based user and judge in this process. */
import { UsageError } from '../../core/faults.js';
import type { Json, ToolCall } from '../../core/message.js';
import type { Prompt } from '../../core/prompts.js';
import type { Judge } from '../../core/suite.js';
import type { SuiteOracle } from '../check.js';
import { answerAsJudge, answerAsUser } from './endpoints/rules.js';
import { deskEntries } from './entries.js';
import { ScriptedAgent } from './oracle.js';
import type { DeskTask } from './scene.js';
import { CITIES } from './vocabulary.js';

export function createDeskOracle(): SuiteOracle {
  const byId = new Map(deskEntries().map(({ ref, task }) => [ref.id, task]));
  const taskOf = (id: string): DeskTask => {
    const task = byId.get(id);
    if (!task) throw new UsageError('task', 'a task of deskbench', `"${id}"`);
    return task;
  };
  return {
    agent: (taskId) => new ScriptedAgent(taskOf(taskId)),
    altered: (taskId, call) => alter(taskOf(taskId), call),
  };
}

/** The first argument that can be another one of its kind, exchanged. */
function alter(task: DeskTask, call: ToolCall): ToolCall | undefined {
  const ids = Object.values(task.scene.start).flatMap((rows) => Object.keys(rows));
  for (const [name, value] of Object.entries(call.arguments)) {
    const other = alternative(ids, value);
    if (other !== undefined) return { ...call, arguments: { ...call.arguments, [name]: other } };
  }
  return undefined;
}

function alternative(ids: readonly string[], value: Json): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (!ids.includes(value)) return CITIES.find((city) => city !== value);
  return ids.find((id) => id !== value && id[0] === value[0]);
}

/** The built-in user, without its endpoint. */
export const ruleUser = async (prompt: Prompt): Promise<string> => answerAsUser(prompt);

/** The built-in judge, without its endpoint. */
export const ruleJudge: Judge = {
  ask: async (prompt) => answerAsJudge(prompt) === 'yes',
  complete: async (prompt) => answerAsJudge(prompt),
};
