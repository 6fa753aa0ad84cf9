/** Schedules and nights in words. */
import { exactMoment, moment, percent, points } from '../activities/report/format.js';
import { nightWord } from '../activities/report/nightly/data.js';
import {
  modelWords,
  type NightComparison,
  type NightRow,
  type NightScore,
  type ScheduleConfig,
} from '../core/nightly/schedule.js';
import type { Estimate } from '../core/report-data.js';
import { USUAL_PRIORITY } from '../core/sharing.js';
import { durationWords } from './schedule-timing.js';

export function whenText(time: Date | undefined): string {
  return time === undefined ? 'never' : moment(time.toISOString());
}

export function settingsText(
  name: string,
  { timing, evaluation, lanes, priority, pool, baseline, webhookEnv, allowIncomplete }: ScheduleConfig,
): string {
  return [
    `schedule    ${name}`,
    `when        ${timing.cron}, ${timing.timezone}`,
    `jitter      ${durationWords(timing.jitterMs)}`,
    `catch-up    ${durationWords(timing.catchUpMs)}`,
    `model       ${modelWords(evaluation)}`,
    `suite       ${evaluation.suite} ${evaluation.suiteDigest}`,
    `attempts    ${evaluation.tasks.length} tasks × ${evaluation.repeat}, ${lanes} lanes, seed ${evaluation.seed}`,
    `priority    ${priority ?? USUAL_PRIORITY.eval}${pool ? `, in pool ${pool}` : ''}`,
    `baseline    ${baseline ?? 'none'}`,
    ...(allowIncomplete ? ['scores      of incomplete coverage too, which say so'] : []),
    `told        ${webhookEnv === null ? 'nobody' : `the address in ${webhookEnv}`}`,
  ].join('\n');
}

/** One night in one line. */
export function nightLine(night: NightRow): string {
  const { score, cause, notComparable } = night.record;
  const figures = score ? `pass@1 ${percent(score.passAt1.value)}${partlyText(score)}` : (cause ?? '');
  const marks = notComparable?.length ? '  not comparable with published results' : '';
  return `${exactMoment(night.at)}  ${nightWord({ at: night.at, night }).padEnd(10)}  ${figures}${marks}`;
}

/** What stands behind a score of incomplete coverage. */
export function partlyText({ incomplete }: NightScore): string {
  return incomplete === undefined ? '' : ` (incomplete: ${incomplete})`;
}

/** One night, with all that it was compared with. */
export function nightText(night: NightRow): string {
  const { record } = night;
  const { score } = record;
  const lines = [
    `night       ${exactMoment(night.at)}  ${nightWord({ at: night.at, night })}`,
    `evaluation  ${night.evaluation}`,
    ...(record.model ? [`model       ${record.model}`] : []),
  ];
  if (score) {
    const partly = partlyText(score);
    lines.push(
      `pass@1      ${estimate(score.passAt1)}${partly}`,
      `${`${score.k}/${score.k}`.padEnd(11)} ${estimate(score.observedK)}, ${score.dependable} of ${score.tasks} tasks${partly}`,
    );
  }
  for (const why of record.notComparable ?? []) lines.push(`not comparable with published results: ${why}`);
  if (record.cause) lines.push(`cause       ${record.cause}`);
  lines.push(...comparisonLines('before', record.previous), ...comparisonLines('baseline', record.baseline));
  for (const change of record.changes ?? []) lines.push(`changed     ${change}`);
  if (record.checkpoint?.passedOver.length) {
    lines.push(
      `passed over newer checkpoints that do not verify: step ${record.checkpoint.passedOver.join(', ')}`,
    );
  }
  if (record.webhook) {
    const { state, error } = record.webhook;
    lines.push(`message     ${state === 'sent' ? 'sent' : `not sent: ${error}`}`);
  }
  return lines.join('\n');
}

function comparisonLines(label: string, comparison: NightComparison | null | undefined): string[] {
  if (!comparison) return [];
  const { evaluation, passAt1, observedK, regressed, sameSuite, unpaired, lostTasks } = comparison;
  const marks = [
    ...(regressed.length > 0 ? [`regression of ${regressed.join(' and ')}`] : []),
    ...(sameSuite ? [] : ['not the same suite']),
    ...(unpaired > 0 ? [`${unpaired} tasks unpaired`] : []),
  ];
  const whole = observedK ? `, k/k ${difference(observedK)}` : '';
  return [
    `${label.padEnd(11)} pass@1 ${difference(passAt1)}${whole}, against ${evaluation}`,
    ...marks.map((mark) => `            ${mark}`),
    ...(regressed.length > 0 && lostTasks.length > 0 ? [`            lost: ${lostTasks.join(', ')}`] : []),
  ];
}

function estimate({ value, low, high }: Estimate): string {
  const interval = low === null || high === null ? '' : ` [${share(low)}, ${share(high)}]`;
  return `${share(value)} %${interval}`;
}

function difference({ value, low, high }: Estimate): string {
  const interval = low === null || high === null ? '' : ` [${points(low)}, ${points(high)}]`;
  return `${points(value)}${interval}`;
}

function share(value: number): string {
  return (100 * value).toFixed(1);
}
