/** Playing a script turn by turn: the oracle, and with chance the noisy agent. */
import type { AssistantMessage, Message } from '../../core/message.js';
import { type DeskTask, namedSlots } from './scene.js';
import { type Chooser, DONE_MARKER, type Script, steady } from './script.js';

/** Produces assistant turns of one episode. It reads tool results and the user's words, nothing else. */
export class ScriptedAgent {
  private readonly script: Script;
  private started = false;
  private calls = 0;
  private over = false;

  constructor(task: DeskTask, agent: Chooser = steady) {
    this.script = task.template.script(namedSlots(task), agent);
  }

  /** The next turn after the newest of `observations` (the opening, tool results or an answer). Repeats the end marker once over. */
  next(observations: readonly Message[]): AssistantMessage {
    const heard = observations.at(-1)?.content ?? '';
    const step = this.over ? undefined : this.advance(heard);
    if (!step) return assistant(`done . ${DONE_MARKER}`);
    if (step.kind === 'say') return assistant(step.text);
    const id = `c${this.calls++}`;
    return { ...assistant(''), toolCalls: [{ id, name: step.tool, arguments: step.args }] };
  }

  private advance(heard: string) {
    // A generator ignores what is sent to its first `next`.
    const result = this.started ? this.script.next(heard) : this.script.next('');
    this.started = true;
    if (result.done) {
      this.over = true;
      return undefined;
    }
    return result.value;
  }
}

function assistant(content: string): AssistantMessage {
  return { role: 'assistant', reasoning: '', content, toolCalls: [] };
}
