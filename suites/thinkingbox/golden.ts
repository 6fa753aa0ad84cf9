/**
 * A scripted policy that plays a list of calls and says it is done. With a case's golden calls it is the oracle of
 * our tests: test material only, never shown to a model, never probed or trained on.
 */
import type { AssistantMessage, JsonObject } from '../../core/message.js';
import type { Policy, PolicyTurn } from '../../core/policy.js';

export interface ScriptedCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** One call a turn, in order, then `farewell`. The same in every episode; one object serves any number of them. */
export function replayPolicy(
  calls: readonly ScriptedCall[],
  farewell = 'All of this is settled. <DONE>',
): Policy {
  return {
    kind: 'scripted',
    begin: async () => {
      let played = 0;
      return {
        turn: async () => {
          const call = calls[played];
          const id = `c${played}`;
          played += 1;
          return asTurn({
            role: 'assistant',
            reasoning: '',
            content: call ? '' : farewell,
            toolCalls: call ? [{ id, name: call.name, arguments: call.arguments }] : [],
          });
        },
        tokens: () => undefined,
      };
    },
  };
}

function asTurn(message: AssistantMessage): PolicyTurn {
  return {
    message,
    finishReason: 'stop',
    problems: [],
    raw: JSON.stringify({ content: message.content, toolCalls: message.toolCalls }),
    promptTokens: 0,
    sampledTokens: 0,
    weightVersion: undefined,
  };
}
