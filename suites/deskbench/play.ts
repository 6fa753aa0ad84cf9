/** A whole episode in memory: a scripted agent against the desk's own code and the rule-based user, without protocol. */
import type { Message } from '../../core/message.js';
import { userPrompt } from '../../core/prompts.js';
import { answerAsUser } from './endpoints/rules.js';
import { ScriptedAgent } from './oracle.js';
import { type DeskTask, systemMessage } from './scene.js';
import { type Chooser, DONE_MARKER } from './script.js';
import { answerCall } from './server.js';
import { cloneTables, differences, type Tables } from './world/tables.js';

export interface Played {
  readonly messages: readonly Message[];
  readonly tables: Tables;
  /** Whether state and rubric are as the check wants them. */
  readonly passed: boolean;
}

/** Turns after which a script counts as endless. */
const MAX_TURNS = 40;

export function playTask(task: DeskTask, chooser: Chooser): Played {
  const tables = cloneTables(task.scene.start);
  const agent = new ScriptedAgent(task, chooser);
  const opening: Message = { role: 'user', content: task.opening };
  const messages: Message[] = [{ role: 'system', content: systemMessage(task.template.domain) }, opening];
  const context = Object.entries(task.facts)
    .map(([label, value]) => `${label}: ${value}`)
    .join('\n');
  let observations: Message[] = [opening];
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const message = agent.next(observations);
    messages.push(message);
    if (message.content.endsWith(DONE_MARKER))
      return { messages, tables, passed: passes(task, tables, message.content) };
    observations =
      message.toolCalls.length > 0
        ? message.toolCalls.map((call) => {
            const { text, isError } = answerCall(task.template.domain, tables, call.name, call.arguments);
            return { role: 'tool', callId: call.id, name: call.name, content: text, isError };
          })
        : [
            {
              role: 'user',
              content: answerAsUser(
                userPrompt(
                  {
                    ...{ opening: task.opening, context, maxTurns: MAX_TURNS, mayEnd: false },
                    doneMarker: DONE_MARKER,
                  },
                  messages,
                ),
              ),
            },
          ];
    messages.push(...observations);
  }
  throw new Error(`the script of ${task.template.name} does not end`);
}

function passes(task: DeskTask, tables: Tables, lastWords: string): boolean {
  const told = task.scene.tell === undefined || lastWords.split(' ').includes(task.scene.tell);
  return told && differences(task.expected, tables).length === 0;
}
