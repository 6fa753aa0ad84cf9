/**
 * Cron texts, checked before they are handed to Temporal: five fields, or one of the names below. When they are due is
 * computed by Temporal, in the schedule's time zone.
 */
import { UsageError } from '../faults.js';

const NAMED = ['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually'];
const EVERY = /^@every \d+[smhd](\/\d+[smhd])?$/;

interface Field {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Words for the values from `from` on. */
  readonly words?: readonly string[];
}

const FIELDS: readonly Field[] = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of the month', from: 1, to: 31 },
  {
    name: 'month',
    from: 1,
    to: 12,
    words: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { name: 'day of the week', from: 0, to: 7, words: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];
const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const EXAMPLE = 'For example "0 2 * * *", every night at two.';

/** The text with single spaces. Throws `UsageError` that names the field, what it may hold and what it holds. */
export function checkCron(text: string): string {
  const cron = text.trim().replace(/\s+/g, ' ');
  if (NAMED.includes(cron) || EVERY.test(cron)) return cron;
  if (cron.startsWith('@')) throw wrong(`${NAMED.join(', ')} or "@every 6h"`, cron);
  if (/^(CRON_)?TZ=/.test(cron)) throw wrong('no time zone in it; give it with --timezone', cron);
  const fields = cron === '' ? [] : cron.split(' ');
  if (fields.length !== FIELDS.length) {
    const expected = 'five fields: minute, hour, day of the month, month, day of the week';
    throw wrong(expected, `${fields.length} in "${cron}"`);
  }
  const values = FIELDS.map((field, index) => valuesOf(field, fields[index]!));
  const [, , days, months] = values as [Set<number>, Set<number>, Set<number>, Set<number>];
  const longest = Math.max(...[...months].map((month) => LONGEST_MONTHS[month - 1]!));
  if (Math.min(...days) > longest) {
    throw wrong(
      'a day that one of its months has',
      `day ${fields[2]} of month ${fields[3]}, which never comes`,
    );
  }
  return cron;
}

function valuesOf(field: Field, text: string): Set<number> {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^(\*|[\w]+)(?:-(\w+))?(?:\/(\d+))?$/.exec(part);
    if (!match) throw wrongField(field, part);
    const [, first = '', second, every] = match;
    const step = every === undefined ? 1 : Number(every);
    if (step < 1 || (first === '*' && second !== undefined)) throw wrongField(field, part);
    const from = first === '*' ? field.from : numberOf(field, first);
    const end = first === '*' || every !== undefined ? field.to : from;
    const to = second === undefined ? end : numberOf(field, second);
    if (from > to) throw wrongField(field, part);
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return values;
}

function numberOf(field: Field, text: string): number {
  const word = field.words?.indexOf(text.toLowerCase()) ?? -1;
  if (word >= 0) return field.from + word;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= field.from && value <= field.to) return value;
  throw wrongField(field, text);
}

function wrongField({ name, from, to, words }: Field, found: string): UsageError {
  const named = words ? `, or ${words[0]}-${words.at(-1)}` : '';
  return wrong(`${from}-${to}${named} as the ${name} (*, a list, a range, or /n)`, `"${found}"`);
}

function wrong(expected: string, found: string): UsageError {
  return new UsageError('--cron', expected, found, EXAMPLE);
}
