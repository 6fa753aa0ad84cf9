/** Training steps in a real ledger and artifact store, as sandbox workers leave them: clean episodes with token records. */
import type { createTrainingActivities } from '../../activities/campaign/training.js';
import { trainConfig } from '../../cli/run/resolve.js';
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import type { TrainConfig } from '../../core/campaign.js';
import { fingerprint } from '../../core/fingerprint.js';
import { stepId } from '../../core/keys.js';
import type { Ledger } from '../../core/ledger.js';
import type { EpisodeTokens } from '../../core/policy.js';
import { encodeTokens } from '../../core/tokens.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { UPDATE_PLAN } from '../../temporal.config.js';
import { begin, clean, member } from '../ledger/fixtures.js';

export const GROUPS = 2;
export const MEMBERS = 4;

export interface Recorded {
  readonly key: string;
  readonly record: Digest;
}

/** The log-probabilities of its episodes are invented: no trainer would agree with them. */
export async function claimRun(ledger: Ledger, run: string): Promise<TrainConfig> {
  const suite = createDeskbench();
  const tasks = (await suite.tasks()).filter(({ split }) => split === 'train').map(({ id }) => id);
  const shape = { groups: GROUPS, groupSize: MEMBERS, maxGroups: GROUPS, minInformative: 1 };
  const made = await trainConfig({ train: { steps: 3, saveEvery: 3, shape } }, suite, tasks);
  const config = { ...made, plan: { ...UPDATE_PLAN, learningRate: 1e-3, mismatch: 'none' as const } };
  await ledger.claimCampaign({
    ...{ id: run, kind: 'train', config, fingerprint: fingerprint(config), parent: null },
    ...{ suite: suite.name, suiteDigest: suite.digest },
  });
  return config;
}

/** Samples a step, and leaves it where its batch is built next. The same step has the same tokens in every run. */
export async function sampleStep(
  deps: { readonly ledger: Ledger; readonly artifacts: ArtifactStore },
  training: Pick<ReturnType<typeof createTrainingActivities>, 'beginStep'>,
  run: string,
  step: number,
  encode: (tokens: EpisodeTokens) => Uint8Array = encodeTokens,
): Promise<readonly Recorded[]> {
  const { tasks } = (await deps.ledger.campaign(run))!.config as TrainConfig;
  await training.beginStep(run, step);
  const episodes: Recorded[] = [];
  for (let index = 0; index < GROUPS * MEMBERS; index++) {
    const [group, place] = [Math.floor(index / MEMBERS), index % MEMBERS];
    const planned = member(stepId(run, step), step, [0, group, place], tasks[group]!);
    await deps.ledger.planAttempts(run, [planned]);
    const record = await deps.artifacts.put(encode(tokensOf(step, index)));
    const document = new TextEncoder().encode(JSON.stringify({ key: planned.key, tokens: record }));
    const trajectory = await deps.artifacts.put(document);
    await deps.ledger.beginTry(begin(planned.key));
    const ended = clean(planned.key, place % 2 === 0);
    await deps.ledger.finishTry({ ...ended, clean: { ...ended.clean!, trajectory } });
    episodes.push({ key: planned.key, record });
  }
  return episodes;
}

function tokensOf(step: number, index: number): EpisodeTokens {
  const length = 20 + index;
  const sampled = Uint8Array.from({ length }, (_, i) => (i > 4 && i % 3 > 0 ? 1 : 0));
  return {
    ids: Int32Array.from({ length }, (_, i) => 260 + ((i * 31 + index * 17 + step * 7) % 190)),
    sampled,
    logprobs: Float32Array.from(sampled, (one, i) => (one ? -0.5 - i / 64 : 0)),
  };
}
