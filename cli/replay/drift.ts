/** What is not as it was when a run was made: refused with every difference, or accepted and written down. */
import { createTrainerClient } from '../../activities/trainer/client.js';
import type { CampaignConfig, TrainConfig } from '../../core/campaign.js';
import { acceptedDrift, type Drift, notAccepted, promptsDrift, suiteDrift } from '../../core/drift.js';
import { Fault, UsageError } from '../../core/faults.js';
import type { CampaignRow, Ledger } from '../../core/ledger.js';
import { promptsDigest } from '../../core/prompts.js';
import type { Trainer } from '../../core/trainer.js';
import { withSuite } from '../run/suite.js';

/** The suite as this program has it, against the one that the campaign was started with. */
export async function driftOfSuite(row: CampaignRow): Promise<readonly Drift[]> {
  return withSuite(row.suite, async ({ digest }) => suiteDrift(row.suite, row.suiteDigest, digest));
}

/** What user and judge are told, which only new episodes feel. */
export async function driftOfPrompts({ suite, config }: CampaignRow): Promise<readonly Drift[]> {
  return withSuite(suite, async ({ userWords }) =>
    promptsDrift((config as CampaignConfig).people?.prompts, promptsDigest(userWords)),
  );
}

/** Build, numerics and base weights of a trainer, against what the run's newest checkpoint and first update recorded. */
export async function driftOfTrainer(
  ledger: Ledger,
  { id, config }: CampaignRow,
  trainer: Trainer,
  signal: AbortSignal,
): Promise<readonly Drift[]> {
  const { from } = config as TrainConfig;
  const [newest] = await ledger.checkpoints(id);
  const manifest =
    newest?.manifest ?? (from === 'base' ? undefined : (await ledger.checkpoints(from.run))[0]?.manifest);
  const { build } = await trainer.state(signal);
  const { numerics, baseDigest } = (await trainer.capabilities(signal)) as {
    numerics?: Readonly<Record<string, string>>;
    baseDigest?: string;
  };
  const drift: Drift[] = [];
  const compare = (what: string, recorded: string | undefined, found: string | undefined) => {
    if (recorded !== undefined && found !== undefined && recorded !== found)
      drift.push({ what, recorded, found });
  };
  compare('trainer build', manifest?.trainerBuild, build);
  for (const [name, recorded] of Object.entries(manifest?.numerics ?? {})) {
    compare(`trainer numerics: ${name}`, recorded, numerics?.[name]);
  }
  const first = (await ledger.operations(id)).find((row) => row.step === 1);
  if (from === 'base') compare('base weights', first?.baseDigest, baseDigest);
  return drift;
}

const ASK_MS = 5_000;

/** The same of the trainer that the run itself samples from; nothing where it does not answer: the run waits for it. */
export async function driftOfOwnTrainer(
  ledger: Ledger,
  row: CampaignRow,
  url: string,
): Promise<readonly Drift[]> {
  if (url === '') return [];
  try {
    return await driftOfTrainer(ledger, row, createTrainerClient({ url }), AbortSignal.timeout(ASK_MS));
  } catch (error) {
    if ((error instanceof Fault && error.code === 'unreachable') || (error as Error).name === 'TimeoutError')
      return [];
    throw error;
  }
}

/** Throws `UsageError` with every difference that was not accepted before, or writes them down as accepted. */
export async function settleDrift(
  ledger: Ledger,
  row: CampaignRow,
  drift: readonly Drift[],
  accept: boolean,
): Promise<void> {
  const changed = notAccepted(drift, row.result);
  if (changed.length === 0) return;
  if (!accept) {
    throw new UsageError(
      `replay of ${row.id}`,
      'the suite and the trainer that it was made with',
      changed.map(({ what, recorded, found }) => `${what}: ${recorded} → ${found}`).join('; '),
      'Go back to them, or go on with --accept-drift, which is recorded with the run.',
    );
  }
  const acceptedAt = new Date().toISOString();
  await ledger.noteOnCampaign(row.id, {
    acceptedDrift: [...acceptedDrift(row.result), ...changed.map((each) => ({ ...each, acceptedAt }))],
  });
}
