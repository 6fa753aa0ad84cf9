/**
 * Perfect episodes as token buffers: the suite's own oracle plays, and what it says is written as the model would have
 * to write it. Played by the real loop, so a model that samples the same tokens lives through the same episode.
 */
import { playEpisode } from '../../activities/episode/play.js';
import { readText } from '../../activities/policy/read-turn.js';
import { TokenBuffer } from '../../activities/policy/token-buffer.js';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { AssistantMessage } from '../../core/message.js';
import type { EpisodeTokens, Policy } from '../../core/policy.js';
import { userPrompt } from '../../core/prompts.js';
import type { Renderer } from '../../core/render/renderer.js';
import { seedOf } from '../../core/seed.js';
import { ruleJudge, ruleUser } from '../../suites/deskbench/check.js';
import { createScriptedPolicy } from '../../suites/deskbench/scripted.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { EPISODE_LIMITS, SAMPLING } from '../../temporal.config.js';

const FORMAT = outputFormat('qwen3_xml');

/** One a task, in the order given. Throws for a task that the oracle does not pass. */
export async function demonstrations(renderer: Renderer, tasks: readonly string[]): Promise<EpisodeTokens[]> {
  const suite = createDeskbench();
  const episodes: EpisodeTokens[] = [];
  for (const id of tasks) {
    const played = await playEpisode({
      task: await suite.load(id),
      driver: createInlineDriver(),
      sandboxName: `demonstration-${episodes.length}`,
      policy: writing(renderer),
      user: { answer: (brief, transcript) => ruleUser(userPrompt(brief, transcript)) },
      judge: () => ruleJudge,
      sampling: SAMPLING,
      limits: EPISODE_LIMITS,
      seed: seedOf(1, id),
      signal: new AbortController().signal,
    });
    const tokens = played.record.tokens;
    if (!played.clean?.verdict.passed || !tokens) {
      throw new Error(`${id}: the oracle did not pass: ${JSON.stringify(played.clean ?? played.fault)}`);
    }
    episodes.push(tokens);
  }
  return episodes;
}

/** The oracle, with a token buffer beside it. */
function writing(renderer: Renderer): Policy {
  const oracle = createScriptedPolicy({ errorRate: 0, turnDelayMs: 0 });
  return {
    kind: 'token',
    async begin(request) {
      const session = await oracle.begin(request);
      const buffer = new TokenBuffer();
      let calls = 0;
      return {
        tokens: () => buffer.tokens(),
        async turn(observations, limits) {
          const { systemMessages, tools } = request;
          const begun = buffer.length > 0;
          buffer.append(
            begun
              ? renderer.delta(observations, true)
              : renderer.first({ systemMessages, tools, messages: observations }),
          );
          const { message } = await session.turn(observations, limits);
          const raw = `${written(message)}<|im_end|>`;
          const ids = Int32Array.from(renderer.tokens.encode(raw));
          buffer.appendSampled({ ids, logprobs: new Float32Array(ids.length) });
          const read = readText(FORMAT, raw, tools, calls);
          calls += read.message.toolCalls.length;
          return {
            message: read.message,
            finishReason: 'stop',
            problems: read.problems,
            raw,
            promptTokens: buffer.length - ids.length,
            sampledTokens: ids.length,
            weightVersion: undefined,
          };
        },
      };
    },
  };
}

/** After a prompt that has opened the reasoning. */
function written({ content, toolCalls }: AssistantMessage): string {
  const calls = toolCalls.map(({ name, arguments: args }) => {
    const parameters = Object.entries(args).map(
      ([key, value]) =>
        `<parameter=${key}>\n${typeof value === 'string' ? value : JSON.stringify(value)}\n</parameter>\n`,
    );
    return `<tool_call>\n<function=${name}>\n${parameters.join('')}</function>\n</tool_call>`;
  });
  return `</think>\n\n${[content, ...calls].filter((part) => part !== '').join('\n\n')}`;
}
