/** Times as a person types them: time zones, durations, moments. Everything wrong with one is one error. */
import { InvalidArgumentError } from 'commander';
import { UsageError } from '../core/faults.js';
import { nearest } from '../core/nearest.js';

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90s`, `30m`, `1h`, `2d` as milliseconds, `least` and `most` included. */
export function durationOption(least: number, most: number): (text: string) => number {
  return (text) => {
    const match = /^(\d{1,9})([smhd])$/.exec(text.trim());
    const ms = match ? Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] : Number.NaN;
    if (ms >= least && ms <= most) return ms;
    throw new InvalidArgumentError(
      `Expected a duration from ${durationWords(least)} to ${durationWords(most)}, such as 90s, 30m, 1h or 2d.`,
    );
  };
}

/** The largest unit that says it in a whole number: `90m`, `1h`. */
export function durationWords(ms: number): string {
  const unit = (['d', 'h', 'm'] as const).find((each) => ms > 0 && ms % UNITS[each] === 0) ?? 's';
  return `${ms / UNITS[unit]}${unit}`;
}

/** Throws `UsageError` for what is no IANA time zone, with the nearest one. */
export function checkTimezone(text: string): string {
  try {
    // Its own spelling would hide a name that Temporal's server does not know.
    new Intl.DateTimeFormat('en', { timeZone: text });
    if (!/^[+-]/.test(text)) return text;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  const near = nearest(text, Intl.supportedValuesOf('timeZone'));
  throw new UsageError(
    '--timezone',
    'the name of a time zone, e.g. UTC or Europe/Berlin',
    `"${text}"`,
    near && `Did you mean ${near}?`,
  );
}

/** A day or a time in ISO 8601; a day is its beginning in UTC. Throws `UsageError`. */
export function momentOption(option: string, text: string): Date {
  const time = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time);
  const expected = 'a day or a time with its offset, e.g. 2026-11-30 or 2026-11-30T02:00:00Z';
  throw new UsageError(option, expected, `"${text}"`);
}
