/** `schedule list`, `show`, `last`, `report`: what is due, and what nights gave. */
import path from 'node:path';
import Table from 'cli-table3';
import { NIGHTS_SHOWN } from '../activities/nightly/activities.js';
import { missedNights } from '../activities/nightly/due.js';
import { exactMoment, percent } from '../activities/report/format.js';
import { nightWord } from '../activities/report/nightly/data.js';
import { writeScheduleReport } from '../activities/report/nightly/files.js';
import { modelWords, type NightRow } from '../core/nightly/schedule.js';
import { requireRoom } from '../infra/setup/disk.mjs';
import { withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import { describeSchedule, resolveSchedule } from './schedule-handle.js';
import { nightLine, nightText, partlyText, settingsText, whenText } from './schedule-text.js';
import { programVersion } from './version.js';

interface LookOptions {
  readonly json?: boolean;
}

export async function listSchedules({ json }: LookOptions): Promise<void> {
  await withStack(async (context) => {
    const schedules = await context.schedules();
    const client = await context.temporal();
    const rows = [];
    for (const { name, config } of await schedules.schedules()) {
      const described = await describeSchedule(client, name);
      const [last] = await schedules.nights(name, 1);
      rows.push({
        name,
        cron: config.timing.cron,
        timezone: config.timing.timezone,
        model: modelWords(config.evaluation),
        // A schedule that Temporal has lost is not due any more, and must not look as if it were.
        state: described === undefined ? 'lost' : described.state.paused ? 'paused' : 'active',
        next: (described?.info.nextActionTimes ?? []).slice(0, 3),
        last: last ?? null,
      });
    }
    if (json) return printJson(rows);
    if (rows.length === 0) return print('There is no schedule. Make one with: steadfast schedule create');
    const table = new Table({
      head: ['schedule', 'when', 'model', 'state', 'next', 'last night', 'pass@1'],
      style: { head: [], border: [] },
    });
    for (const { name, cron, timezone, model, state, next, last } of rows) {
      const score = last?.record.score;
      table.push([
        name,
        `${cron} ${timezone}`,
        model,
        state,
        state === 'active' ? whenText(next[0]) : '–',
        last ? `${exactMoment(last.at)} ${nightWord({ at: last.at, night: last })}` : 'none yet',
        score ? `${percent(score.passAt1.value)}${partlyText(score)}${comparedText(last)}` : '–',
      ]);
    }
    print(table.toString());
    if (rows.some(({ state }) => state === 'lost')) {
      say('lost: Temporal does not know it; create it again with the same options.');
    }
  });
}

function comparedText({ record }: NightRow): string {
  return record.notComparable?.length ? '\nnot comparable' : '';
}

export async function showSchedule(name: string, { json }: LookOptions): Promise<void> {
  await withStack(async (context) => {
    const schedules = await context.schedules();
    const row = await resolveSchedule(schedules, name);
    const client = await context.temporal();
    const described = await describeSchedule(client, name);
    const nights = await schedules.nights(name, NIGHTS_SHOWN);
    const missed = await missedNights(client, row, nights);
    const next = described?.info.nextActionTimes ?? [];
    const state = described === undefined ? 'lost' : described.state.paused ? 'paused' : 'active';
    if (json) return printJson({ ...row, state, note: described?.state.note ?? null, next, missed, nights });
    print(settingsText(name, row.config));
    print(`state       ${state}${described?.state.note ? `: ${described.state.note}` : ''}`);
    print(`next        ${next.slice(0, 3).map(whenText).join(', ') || 'never'}`);
    print(
      `not run     ${missed.length}${missed.length > 0 ? `, the last: ${exactMoment(missed.at(-1)!)}` : ''}`,
    );
    for (const night of nights.slice(0, 10)) print(nightLine(night));
  });
}

/** The newest night that has ended. Exit code 4 for a regression, 3 without a score, 1 when it failed or was stopped. */
export async function lastNight(name: string, { json }: LookOptions): Promise<void> {
  await withStack(async (context) => {
    const schedules = await context.schedules();
    await resolveSchedule(schedules, name);
    const nights = await schedules.nights(name, NIGHTS_SHOWN);
    const running = nights.find(({ state }) => state === 'running');
    const last = nights.find(({ state }) => state !== 'running');
    if (json) printJson({ schedule: name, night: last ?? null, running: running?.at ?? null });
    else print(last ? nightText(last) : `No night of ${name} has ended yet.`);
    if (running)
      say(`The night of ${exactMoment(running.at)} runs now: steadfast status ${running.evaluation}`);
    process.exitCode = last ? exitCodeOf(last) : EXIT.ok;
  });
}

function exitCodeOf({ state, record }: NightRow): number {
  if (state === 'incomplete') return EXIT.incomplete;
  if (state !== 'done') return EXIT.failed;
  return record.regression ? EXIT.regression : EXIT.ok;
}

export async function reportSchedule(
  name: string,
  options: LookOptions & { readonly out?: string },
): Promise<void> {
  const file = options.out === undefined ? undefined : path.resolve(options.out);
  if (file !== undefined) requireRoom(path.dirname(file), 1, 'the report');
  await withStack(async (context) => {
    const schedules = await context.schedules();
    const schedule = await resolveSchedule(schedules, name);
    const nights = await schedules.nights(name, NIGHTS_SHOWN);
    const missed = await missedNights(await context.temporal(), schedule, nights);
    const written = await writeScheduleReport(
      { schedule, nights, missed },
      {
        reports: path.join(context.info.home, 'reports'),
        programVersion: programVersion(),
        ...(file === undefined ? {} : { file }),
      },
    );
    if (options.json) printJson(written);
    else print(written.path);
  });
}
