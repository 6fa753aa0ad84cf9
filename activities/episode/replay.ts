/**
 * Replay of an episode: its recorded tool calls on a fresh backend, its recorded outputs through today's interpreter.
 * No policy, no user, no judge is asked. Every observation and the final state must come out as recorded.
 */
import { asFault } from '../../core/faults.js';
import { configDiff } from '../../core/fingerprint.js';
import type { Message } from '../../core/message.js';
import type { SandboxDriver } from '../../core/sandbox.js';
import type { Task } from '../../core/suite.js';
import { answerCall, Toolbox } from './calls.js';
import type { Trajectory } from './trajectory.js';
import { assistantTurns, formatOf, turnDifferences } from './turn-differences.js';

export interface EpisodeDifference {
  /** `turn 3, call 1 as read today`, `observation of c2`, `final state: desk.orders[0].state` ... */
  readonly what: string;
  readonly recorded: string;
  readonly replayed: string;
}

export interface EpisodeReplay {
  readonly key: string;
  readonly identical: boolean;
  readonly turns: number;
  /** Turns whose raw output was read again; the others' policies have no text to be read. */
  readonly turnsRead: number;
  readonly calls: number;
  readonly differences: readonly EpisodeDifference[];
}

export interface EpisodeReplayParts {
  readonly trajectory: Trajectory;
  readonly task: Task;
  readonly driver: SandboxDriver;
  readonly sandboxName: string;
  readonly toolMs: number;
  readonly signal: AbortSignal;
}

/** Differences shown of one final state. */
const MOST_PATHS = 20;

/** Throws `Fault('sandbox' | 'suite')` when the backend cannot be had. */
export async function replayEpisode(parts: EpisodeReplayParts): Promise<EpisodeReplay> {
  const { trajectory, task, driver, sandboxName: name, signal } = parts;
  const sandbox = await driver.create({ name, servers: task.servers, signal });
  try {
    await task.init(sandbox.tools, signal);
    const visible = await task.visibleTools(sandbox.tools, signal);
    const { read, differences: ofTurns } = turnDifferences(trajectory, visible, formatOf(trajectory));
    const differences: EpisodeDifference[] = ofTurns.map(({ turn, field, recorded, today }) => ({
      what: `turn ${turn + 1}, ${field} as read today`,
      recorded,
      replayed: today,
    }));
    const toolbox = new Toolbox(visible, sandbox.tools);
    let calls = 0;
    for (const { message, turn } of assistantTurns(trajectory)) {
      // A message that was cut off executed nothing.
      if (trajectory.turns[turn]?.finishReason === 'length') continue;
      const refused = read.get(turn)?.refused;
      for (const call of message.toolCalls) {
        calls += 1;
        const { message: found } = await answerCall(task, call, {
          toolbox,
          session: sandbox.tools,
          timeoutMs: parts.toolMs,
          signal,
          refused,
        });
        const recorded = trajectory.messages.find((each) => each.role === 'tool' && each.callId === call.id);
        const [before, now] = [textOf(recorded), textOf(found)];
        if (before !== now) {
          differences.push({
            what: `observation of ${call.id} (${call.name})`,
            recorded: before,
            replayed: now,
          });
        }
      }
    }
    const effects = await task.effects(sandbox.tools, signal);
    for (const { path, old = 'absent', new: now = 'absent' } of configDiff(trajectory.effects, effects).slice(
      0,
      MOST_PATHS,
    )) {
      differences.push({ what: `final state: ${path}`, recorded: old, replayed: now });
    }
    const turns = trajectory.turns.length;
    return {
      key: trajectory.key,
      identical: differences.length === 0,
      turns,
      turnsRead: read.size,
      calls,
      differences,
    };
  } catch (error) {
    throw asFault(error, 'sandbox');
  } finally {
    await sandbox.release();
  }
}

function textOf(message: Message | undefined): string {
  if (message?.role !== 'tool') return 'none';
  return `${message.isError ? 'error ' : ''}${message.content}`;
}
