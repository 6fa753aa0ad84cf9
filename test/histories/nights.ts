/** Nights to record histories of: one of a run's newest checkpoint, and one that regresses and whose message nobody takes. */
import type { StackContext } from '../../cli/context.js';
import { attemptsConfig } from '../../cli/run/resolve.js';
import type { ModelRef } from '../../core/campaign.js';
import { nightEvaluation, nightWorkflowId, type ScheduleConfig } from '../../core/nightly/schedule.js';
import type { Suite } from '../../core/suite.js';
import { NIGHTLY, QUEUES } from '../../temporal.config.js';

const SCHEDULE = 'small';

export async function playNights(
  context: StackContext,
  suite: Suite,
  run: string,
  tasks: readonly string[],
): Promise<void> {
  const { timezone, jitterMs, catchUpMs } = NIGHTLY;
  const scripted = (errorRate: number): ModelRef => ({ kind: 'scripted', errorRate, turnDelayMs: 0 });
  const evaluation = await attemptsConfig('eval', { benchmark: { repeat: 1 } }, suite, tasks);
  const base: ScheduleConfig = {
    timing: { cron: '0 1 * * *', timezone, jitterMs, catchUpMs },
    evaluation: { ...evaluation, model: scripted(0) },
    lanes: 4,
    baseline: null,
    webhookEnv: 'HOOK_THAT_NO_WORKER_HAS',
  };
  const play = async (day: string, change: Partial<ScheduleConfig>): Promise<string> => {
    const night = { schedule: SCHEDULE, at: `2026-11-${day}T01:00:00.000Z` };
    await (await context.schedules()).putSchedule(SCHEDULE, { ...base, ...change }, '0.1.0');
    const { workflow } = await context.temporal();
    await workflow.execute('nightly', {
      workflowId: nightWorkflowId(night),
      taskQueue: QUEUES.pipeline,
      args: [night],
    });
    return nightEvaluation(night);
  };
  const baseline = await play('27', {});
  const newest: ModelRef = { kind: 'trainer', checkpoint: { run, step: 'latest' } };
  await play('28', { evaluation: { ...evaluation, model: newest } });
  await play('29', { evaluation: { ...evaluation, model: scripted(1) }, baseline });
}
