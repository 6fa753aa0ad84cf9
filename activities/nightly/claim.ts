/** The evaluation of a night: the schedule's, with the suite, the prompts and the checkpoint of today. */
import type { AttemptsConfig } from '../../core/campaign.js';
import { campaignClaim } from '../../core/claim.js';
import { Fault } from '../../core/faults.js';
import {
  modelWords,
  type NightCheckpoint,
  type NightRow,
  nightConfig,
  type ScheduleRow,
} from '../../core/nightly/schedule.js';
import { promptsDigest } from '../../core/prompts.js';
import type { Suite } from '../../core/suite.js';
import type { NightlyDeps } from './deps.js';

/** Claims it and notes on the night what it is; one that is claimed already stays as it is. */
export async function claimEvaluation(
  deps: NightlyDeps,
  schedule: ScheduleRow,
  night: NightRow,
  checkpoint: NightCheckpoint | null,
): Promise<AttemptsConfig> {
  const known = await deps.ledger.campaign(night.evaluation);
  const suite = await deps.suite(schedule.config.evaluation.suite);
  const { config, missing } = known
    ? { config: known.config as AttemptsConfig, missing: [] }
    : await configOf(schedule, suite, checkpoint);
  await deps.ledger.claimCampaign(campaignClaim(night.evaluation, config, null));
  await deps.schedules.noteNight(night, {
    programVersion: deps.programVersion,
    suiteDigest: config.suiteDigest,
    ...(config.notComparable ? { notComparable: config.notComparable } : {}),
    model: modelWords(config, checkpoint ?? undefined),
    ...(checkpoint ? { checkpoint } : {}),
    changes: [...(await changesOf(deps, schedule, night, config)), ...missingWords(missing, schedule)],
    cause: null,
  });
  return config;
}

interface Made {
  readonly config: AttemptsConfig;
  /** Tasks of the schedule that the suite has no more. */
  readonly missing: readonly string[];
}

async function configOf(
  { name, config }: ScheduleRow,
  suite: Suite,
  checkpoint: NightCheckpoint | null,
): Promise<Made> {
  const { notComparable: _old, people, ...asked } = nightConfig(config, checkpoint);
  const there = new Set((await suite.tasks()).map(({ id }) => id));
  const tasks = asked.tasks.filter((id) => there.has(id));
  if (tasks.length === 0) {
    throw new Fault('suite', `none of the tasks of schedule ${name} is in suite ${suite.name} any more`, {
      retry: false,
    });
  }
  return {
    config: {
      ...asked,
      tasks,
      suiteDigest: suite.digest,
      ...(people ? { people: { ...people, prompts: promptsDigest(suite.userWords) } } : {}),
      ...(suite.notComparable?.length ? { notComparable: suite.notComparable } : {}),
    },
    missing: asked.tasks.filter((id) => !there.has(id)),
  };
}

const SHOWN = 5;

function missingWords(missing: readonly string[], { config }: ScheduleRow): readonly string[] {
  if (missing.length === 0) return [];
  const some = missing.slice(0, SHOWN).join(', ') + (missing.length > SHOWN ? ', …' : '');
  return [
    `${missing.length} of ${config.evaluation.tasks.length} tasks are not in the suite any more: ${some}`,
  ];
}

/** What is not what the schedule pinned, and what is not what it was the night before. */
async function changesOf(
  { ledger, schedules, programVersion }: NightlyDeps,
  schedule: ScheduleRow,
  night: NightRow,
  config: AttemptsConfig,
): Promise<readonly string[]> {
  const { evaluation: pinned } = schedule.config;
  const before = await schedules.nightBefore(night);
  const ran = before && ((await ledger.campaign(before.evaluation))?.config as AttemptsConfig | undefined);
  const rows: readonly (readonly [string, string | undefined, string | undefined, string | undefined])[] = [
    [`suite ${config.suite}`, config.suiteDigest, pinned.suiteDigest, ran?.suiteDigest],
    ['program version', programVersion, schedule.programVersion, before?.record.programVersion],
    ['prompts of user and judge', config.people?.prompts, pinned.people?.prompts, ran?.people?.prompts],
  ];
  return rows.flatMap(([what, now, pin, last]) => [
    ...(pin !== undefined && pin !== now ? [`${what} is not the pinned one: ${pin} → ${now}`] : []),
    ...(last !== undefined && last !== now
      ? [`${what} has changed since the night before: ${last} → ${now}`]
      : []),
  ]);
}
