/** The weights of a campaign before it starts: its checkpoint, and where a server of ours serves it the settings, hosts, token parity. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { AttemptsConfig, CampaignConfig, ServedModelRef } from '../../core/campaign.js';
import type { HostFacts } from '../../core/cluster.js';
import { UsageError } from '../../core/faults.js';
import type { CheckpointRow, Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import { isObject } from '../../core/message.js';
import { parityNote } from '../../core/parity.js';
import type { VllmSettings } from '../../core/serving/settings.js';
import { SERVING, serverQueue } from '../../temporal.config.js';
import type { StackContext } from '../context.js';
import { checkpointAt } from './checkpoint-name.js';
import { checkpointAsked } from './model.js';
import { type Found, wholeCheck } from './whole-check.js';

const NOTHING: Found = { problems: [], lines: [] };

/**
 * What of its weights keeps a campaign from ever sampling: a file of its checkpoint that is damaged, settings that vLLM
 * refuses. Of a model that is no checkpoint it says nothing. The ledger has the checkpoint (`requireModel`).
 */
export async function checkWeights(context: StackContext, config: CampaignConfig): Promise<Found> {
  const asked = checkpointAsked(config);
  if (asked === undefined) return NOTHING;
  const ledger = await context.ledger();
  const row = checkpointAt(await ledger.checkpoints(asked.run), asked.step);
  if (row === undefined) return NOTHING;
  const whole = await wholeCheck(ledger, row);
  if (!('model' in config) || config.model.kind !== 'served') return whole;
  return together([whole, await settingsCheck(row, config, config.model.settings)]);
}

/** For a dry run: beside the weights, what may be another when the campaign comes to it. */
export async function checkServed(context: StackContext, config: CampaignConfig): Promise<Found> {
  const weights = await checkWeights(context, config);
  if (!('model' in config) || config.model.kind !== 'served') return weights;
  const { model } = config;
  const parity = await parityLine(await context.ledger(), model.checkpoint.run);
  return together([weights, await hostsCheck(context, model), { problems: [], lines: [parity] }]);
}

function together(parts: readonly Found[]): Found {
  return {
    problems: parts.flatMap(({ problems }) => problems),
    lines: parts.flatMap(({ lines }) => lines),
  };
}

/** Hosts that poll, and what of their GPUs the settings need. */
async function hostsCheck(context: StackContext, { settings }: ServedModelRef): Promise<Found> {
  const { askHost, HostSilent, isPolled } = await import('../preflight/ask.js');
  const client = await context.temporal();
  const seen = (await (await context.servings()).hosts()).filter(
    ({ seenAt }) => Date.now() - new Date(seenAt).getTime() < SERVING.seenMs,
  );
  const polled = await Promise.all(seen.map(({ name }) => isPolled(client, serverQueue(name), 'activities')));
  const hosts = seen.filter((_, index) => polled[index]).map(({ name }) => name);
  if (hosts.length === 0) {
    const fix = 'Start one on a GPU host: steadfast workers gpu --host NAME (docs/serving.md)';
    return { problems: [new UsageError('GPU hosts', 'one that polls', 'none', fix)], lines: [] };
  }
  const busy = await (await context.gpuHosts()).jobs();
  const answers = await Promise.all(
    hosts.map(async (host) => {
      try {
        const args = [NOTHING_BUT_GPUS];
        const facts = await askHost<HostFacts>(client, 'served', { host, activity: 'hostFacts', args });
        const words = facts.gpuProblem === null ? `${facts.gpus.length} GPUs` : 'GPUs not listed';
        const job = busy.get(host);
        return {
          enough: facts.gpuProblem !== null || facts.gpus.length >= settings.tensorParallel,
          words: `${host}: ${words}${job === undefined ? '' : `, and ${job}`}`,
        };
      } catch (error) {
        if (!(error instanceof HostSilent)) throw error;
        return { enough: false, words: `${host}: ${error.message}` };
      }
    }),
  );
  const lines = answers.map(({ words }) => `host ${words}`);
  if (answers.some(({ enough }) => enough)) return { problems: [], lines };
  const expected = `${settings.tensorParallel} GPUs on one host, as serving.tensorParallel asks`;
  const found = answers.map(({ words }) => words).join('; ');
  return { problems: [new UsageError('GPU hosts', expected, found)], lines: [] };
}

const NOTHING_BUT_GPUS = {
  ...{ python: null, packages: [], files: [], folders: [], inputs: [], dataSets: [], model: null },
};

/** What vLLM would refuse after minutes of loading. */
async function settingsCheck(
  row: CheckpointRow,
  { limits }: Pick<AttemptsConfig, 'limits'>,
  settings: VllmSettings,
): Promise<Found> {
  const problems: UsageError[] = [];
  const need = (holds: boolean, name: keyof VllmSettings, expected: string, found: unknown): void => {
    if (!holds) problems.push(new UsageError(`serving.${name}`, expected, String(found)));
  };
  const { tensorParallel, maxModelLength, maxBatchedTokens, maxSequences, chunkedPrefill } = settings;
  need(
    chunkedPrefill || maxBatchedTokens >= maxModelLength,
    'maxBatchedTokens',
    `at least maxModelLength, ${maxModelLength}, since chunkedPrefill is off`,
    maxBatchedTokens,
  );
  need(
    maxBatchedTokens >= maxSequences,
    'maxBatchedTokens',
    `at least maxSequences, ${maxSequences}`,
    maxBatchedTokens,
  );
  const { heads, positions } = await shapeOf(row.path);
  need(
    heads === undefined || heads % tensorParallel === 0,
    'tensorParallel',
    `a divisor of the model's ${heads} attention heads`,
    tensorParallel,
  );
  need(
    positions === undefined || maxModelLength <= positions,
    'maxModelLength',
    `at most ${positions}, the positions that the model was made for`,
    maxModelLength,
  );
  const longest = limits.promptTokens + limits.tokensPerEpisode;
  const short = `serving.maxModelLength ${maxModelLength} is less than promptTokens + tokensPerEpisode, ${longest}: longer episodes end there`;
  return { problems, lines: maxModelLength < longest ? [short] : [] };
}

/** As the configuration beside the weights says; undefined: it does not, or lies elsewhere. */
async function shapeOf(folder: string): Promise<{ heads?: number; positions?: number }> {
  for (const place of ['config.json', 'huggingface/config.json', 'actor/huggingface/config.json']) {
    const text = await readFile(path.join(folder, place), 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    try {
      const value: unknown = JSON.parse(text);
      if (!isObject(value)) return {};
      const inner = isObject(value.text_config) ? value.text_config : value;
      const { num_attention_heads: heads, max_position_embeddings: positions } = inner;
      return {
        ...(typeof heads === 'number' ? { heads } : {}),
        ...(typeof positions === 'number' ? { positions } : {}),
      };
    } catch {
      // The file's length and digest are looked at elsewhere.
      return {};
    }
  }
  return {};
}

/** Another campaign of the same run may have proved it. */
async function parityLine(ledger: Ledger & LedgerReads, run: string): Promise<string> {
  for (const { id } of await ledger.campaigns({ kind: 'eval', limit: 100 })) {
    const campaign = await ledger.campaign(id);
    const { model } = (campaign?.config ?? {}) as Partial<AttemptsConfig>;
    const note = parityNote(campaign?.result);
    if (model?.kind !== 'served' || model.checkpoint.run !== run || note?.state !== 'proven') continue;
    return `token parity: proven for ${run} by ${id} at ${note.at}, and again before the first episode`;
  }
  return 'token parity: not known yet; proven when the server answers, before the first episode, or nothing is sampled';
}
