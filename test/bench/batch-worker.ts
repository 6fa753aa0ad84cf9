/**
 * One side of the `batch` benchmark, a process of its own so that its memory is nobody else's:
 *
 *   node dist/test/bench/batch-worker.js episodes DATABASE_URL ARTIFACTS EPISODES PROMPT RESPONSE
 *   node dist/test/bench/batch-worker.js batch    DATABASE_URL ARTIFACTS
 *
 * `episodes` does what a sandbox worker does when an episode ends: token record, document, rows. `batch` is the pipeline
 * worker's `buildBatch`, and what the GPU worker then sends. Prints one line of JSON; `peakMb` is the most that was
 * resident.
 */
import { readFileSync } from 'node:fs';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { Configurations } from '../../activities/campaign/deps.js';
import { createTrainingActivities } from '../../activities/campaign/training.js';
import { createPool } from '../../activities/ledger/pool.js';
import { createPgLedger } from '../../activities/ledger/postgres.js';
import { sendBatch } from '../../activities/trainer/batch-request.js';
import { trainConfig } from '../../cli/run/resolve.js';
import { fingerprint } from '../../core/fingerprint.js';
import { attemptKey, stepId } from '../../core/keys.js';
import type { PlannedAttempt } from '../../core/ledger.js';
import { randomStream } from '../../core/random.js';
import { encodeTokens } from '../../core/tokens.js';
import type { UpdateReport } from '../../core/trainer.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';

const RUN = 'train/batch';
const GROUP_SIZE = 8;
const WEIGHTS = `sha256:${'b'.repeat(64)}`;
const TURNS = 10;
const CHARACTERS_A_TOKEN = 4;
/** Qwen 3.5's. */
const VOCABULARY = 248_000;

const [mode = '', url = '', folder = '', ...numbers] = process.argv.slice(2);
const pool = createPool(url, { max: 2 });
const ledger = createPgLedger(pool);
const artifacts = createLocalArtifacts(folder);
try {
  const found = mode === 'episodes' ? await episodes(numbers.map(Number)) : await batch();
  process.stdout.write(`${JSON.stringify({ ...found, peakMb: peakMb() })}\n`);
} finally {
  await pool.end();
}

async function episodes([count = 0, prompt = 0, response = 0]: readonly number[]): Promise<object> {
  const suite = createDeskbench();
  const tasks = (await suite.tasks()).filter(({ split }) => split === 'train').map(({ id }) => id);
  const groups = count / GROUP_SIZE;
  const shape = { groups, groupSize: GROUP_SIZE, maxGroups: groups, minInformative: 1 };
  const config = await trainConfig({ train: { shape } }, suite, tasks);
  await ledger.claimCampaign({
    ...{ id: RUN, kind: 'train', config, fingerprint: fingerprint(config), parent: null },
    ...{ suite: suite.name, suiteDigest: suite.digest },
  });
  const planned: PlannedAttempt[] = Array.from({ length: count }, (_, index) => {
    const [group, member] = [Math.floor(index / GROUP_SIZE), index % GROUP_SIZE];
    const slot = `0.${group}.${member}`;
    const taskId = tasks[group]!;
    const key = attemptKey(stepId(RUN, 1), taskId, slot);
    return {
      ...{ key, taskId, slot, domain: 'd', template: 't', seed: '1', step: 1, round: 0 },
      group,
      member,
    };
  });
  await ledger.planAttempts(RUN, planned);
  let [records, documents, json] = [0, 0, 0];
  for (const [index, { key, member = 0 }] of planned.entries()) {
    const tokens = tokensOf(index, prompt, response);
    const bytes = encodeTokens(tokens);
    records += bytes.length;
    if (index === 0) json = JSON.stringify(asArrays(tokens)).length;
    const record = await artifacts.put(bytes);
    const document = new TextEncoder().encode(
      JSON.stringify(documentOf(key, record, index, prompt, response)),
    );
    documents += document.length;
    const trajectory = await artifacts.put(document);
    const passed = member % 2 === 0;
    const sandbox = { name: `bench-${index}`, isolation: 'inline' as const, host: 'h', expiresAt: later() };
    await ledger.beginTry({ key, tryNumber: 1, activityAttempt: 1, worker: 'bench', sandbox });
    await ledger.finishTry({
      ...{ key, tryNumber: 1, activityAttempt: 1, wallMs: 1 },
      usage: {
        ...{ policyPromptTokens: prompt, policySampledTokens: response, policyCalls: 1 },
        ...{ otherPromptTokens: 0, otherSampledTokens: 0, otherCalls: 0 },
      },
      clean: {
        verdict: { passed, reward: passed ? 1 : 0, reasons: [], judged: [] },
        ...{ termination: 'done', trajectory, effectsDigest: WEIGHTS, weightVersion: WEIGHTS },
        ...{ turns: 1, toolCalls: 0, toolErrors: 0, truncatedTurns: 0 },
      },
    });
    await ledger.sandboxEnded(sandbox.name, 'released');
  }
  return { records, documents, json };
}

async function batch(): Promise<object> {
  const deps = { ledger, artifacts, reports: folder, suite: async () => createDeskbench() };
  const activities = createTrainingActivities(deps, new Configurations(ledger));
  await activities.beginStep(RUN, 1);
  const { batchDigest, episodes } = await activities.buildBatch(RUN, 1, 3);
  const operation = { run: RUN, op: 'op', baseDigest: WEIGHTS, batchDigest, plan: {} };
  let sent: object | undefined;
  await sendBatch(artifacts, operation, async ({ batchPath, recordPaths }) => {
    sent = { batchPath, recordPaths };
    return {} as UpdateReport;
  });
  return { ...sent, digest: batchDigest, episodes };
}

/**
 * The conversation as text, the size that a real one has: every sampled token is in a turn's raw output and in the message
 * that was read from it, everything else once.
 */
function documentOf(key: string, tokens: string, index: number, prompt: number, response: number): object {
  const random = randomStream('bench', 'document', index);
  const words = (count: number): string =>
    Array.from({ length: count }, () =>
      random
        .uint32()
        .toString(36)
        .slice(0, CHARACTERS_A_TOKEN - 1),
    ).join(' ');
  const turns = Array.from({ length: TURNS }, () => words(Math.floor(response / TURNS)));
  return {
    ...{ format: 1, key, tokens },
    messages: [
      { role: 'system', content: words(prompt) },
      ...turns.map((reasoning) => ({ role: 'assistant', reasoning, content: '', toolCalls: [] })),
    ],
    turns: turns.map((raw) => ({ raw, finishReason: 'stop', problems: [] })),
  };
}

/** The prompt is not sampled, and all of the response is: the most that a record can hold. */
function tokensOf(index: number, prompt: number, response: number) {
  const random = randomStream('bench', 'batch', index);
  const length = prompt + response;
  return {
    ids: Int32Array.from({ length }, () => random.below(VOCABULARY)),
    sampled: Uint8Array.from({ length }, (_, i) => (i < prompt ? 0 : 1)),
    logprobs: Float32Array.from({ length }, (_, i) => (i < prompt ? 0 : -random.below(1_000_000) / 65_536)),
  };
}

function asArrays({ ids, sampled, logprobs }: ReturnType<typeof tokensOf>): object {
  return { ids: [...ids], sampled: [...sampled], logprobs: [...logprobs] };
}

function later(): string {
  return new Date(Date.now() + 3_600_000).toISOString();
}

function peakMb(): number {
  const kib = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return Math.round(Number(kib ?? 0) / 976.5625);
}
