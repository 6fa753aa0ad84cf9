/** `replay episode`: one recorded episode on a fresh backend of this machine. */
import { randomBytes } from 'node:crypto';
import pc from 'picocolors';
import { type EpisodeReplay, replayEpisode } from '../../activities/episode/replay.js';
import type { Trajectory } from '../../activities/episode/trajectory.js';
import { suiteDrift } from '../../core/drift.js';
import { UsageError } from '../../core/faults.js';
import type { CampaignRow } from '../../core/ledger.js';
import type { AttemptDetail } from '../../core/ledger-reads.js';
import { importedModel } from '../../core/results/imported.js';
import { hostName } from '../../infra/host-name.js';
import { EPISODE_LIMITS } from '../../temporal.config.js';
import { type StackContext, withStack } from '../context.js';
import { print, printJson } from '../output.js';
import type { EpisodeOptions } from '../replay.js';
import { resolveAttempt } from '../run/find.js';
import { workersEnvironment } from '../run/local-workers.js';
import { withSuite } from '../run/suite.js';
import { settleDrift } from './drift.js';

/** True when everything came out as recorded. */
export async function replayEpisodeVerb(key: string, options: EpisodeOptions): Promise<boolean> {
  return withStack(async (context) => {
    const ledger = await context.ledger();
    const attempt = await resolveAttempt(ledger, key);
    const campaign = await ledger.campaign(attempt.campaign);
    if (importedModel(campaign?.config)) {
      const fix = `Read it with: steadfast show ${key}`;
      throw new UsageError(key, 'an episode that ran here', 'one whose row was imported', fix);
    }
    const trajectory = await trajectoryOf(context, attempt);
    const recorded = await onFreshBackend(context, campaign!, trajectory, options.acceptDrift ?? false);
    // A reused episode was recorded under the key of the attempt that ran it.
    const replay = { ...recorded, key };
    if (options.json) printJson(replay);
    else print(replayText(replay).join('\n'));
    return replay.identical;
  });
}

async function trajectoryOf(context: StackContext, attempt: AttemptDetail): Promise<Trajectory> {
  if (attempt.trajectory === null) {
    throw new UsageError(attempt.key, 'an attempt with a clean episode', `one that is ${attempt.state}`);
  }
  const bytes = await (await context.artifacts()).get(attempt.trajectory);
  return JSON.parse(new TextDecoder().decode(bytes)) as Trajectory;
}

async function onFreshBackend(
  context: StackContext,
  row: CampaignRow,
  trajectory: Trajectory,
  acceptDrift: boolean,
): Promise<EpisodeReplay> {
  const { sandboxDrivers } = await import('../../workers/drivers.js');
  const { writtenDown } = await import('../../workers/written-down.js');
  const { isolationOf } = await import('../../workers/environment.js');
  const { info } = context;
  const env = workersEnvironment(info);
  const drivers = sandboxDrivers(info.home, isolationOf(env.STEADFAST_ISOLATION), undefined, env);
  return withSuite(row.suite, async (suite) => {
    const ledger = await context.ledger();
    await settleDrift(ledger, row, suiteDrift(row.suite, row.suiteDigest, suite.digest), acceptDrift);
    const { limits } = row.config as { limits?: { toolMs?: number } };
    return replayEpisode({
      trajectory,
      task: await suite.load(trajectory.task.id),
      driver: writtenDown(drivers(suite.isolation), { ledger, host: hostName(env) }),
      sandboxName: `sf-replay-${randomBytes(6).toString('hex')}`,
      toolMs: limits?.toolMs ?? EPISODE_LIMITS.toolMs,
      signal: new AbortController().signal,
    });
  });
}

function replayText({ identical, key, turns, turnsRead, calls, differences }: EpisodeReplay): string[] {
  const read = turnsRead === turns ? 'read again' : `of which ${turnsRead} were text and read again`;
  const what = `${turns} turns ${read}, ${calls} calls made again on a fresh backend`;
  if (identical) return [`${pc.green('identical')}: ${key}: ${what}; same observations, same final state`];
  const [first, ...others] = differences;
  return [
    `${pc.red('different')}: ${key}: ${what}`,
    `first: ${first!.what}: recorded ${first!.recorded}, replayed ${first!.replayed}`,
    ...others.map(
      ({ what: where, recorded, replayed }) => `  also ${where}: recorded ${recorded}, replayed ${replayed}`,
    ),
  ];
}
