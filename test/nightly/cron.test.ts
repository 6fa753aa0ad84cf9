/** Cron texts, time zones, durations and moments: what is taken, and the one error for what is not. */
import { describe, expect, it } from 'vitest';
import { checkTimezone, durationOption, durationWords, momentOption } from '../../cli/schedule-timing.js';
import { checkCron } from '../../core/nightly/cron.js';

describe('cron texts', () => {
  it.each([
    ['0 2 * * *', '0 2 * * *'],
    ['  */15   9-17 * * mon-fri ', '*/15 9-17 * * mon-fri'],
    ['0 0 29 2 *', '0 0 29 2 *'],
    ['5,35 1-5/2 1,15 JAN,jul 7', '5,35 1-5/2 1,15 JAN,jul 7'],
    ['30/10 * * * *', '30/10 * * * *'],
    ['@daily', '@daily'],
    ['@every 6h', '@every 6h'],
  ])('%s is taken', (text, taken) => {
    expect(checkCron(text)).toBe(taken);
  });

  it.each([
    ['', /five fields.*found 0/],
    ['0 2 * *', /five fields.*found 4/],
    ['0 0 2 * * *', /five fields.*found 6/],
    ['60 2 * * *', /0-59 as the minute.*"60"/],
    ['0 24 * * *', /0-23 as the hour.*"24"/],
    ['0 2 0 * *', /1-31 as the day of the month.*"0"/],
    ['0 2 * 13 *', /1-12, or jan-dec as the month.*"13"/],
    ['0 2 * * 8', /0-7, or sun-sat as the day of the week.*"8"/],
    ['0 5-2 * * *', /as the hour.*"5-2"/],
    ['*/0 * * * *', /as the minute.*"\*\/0"/],
    ['0 2 * * monday', /as the day of the week.*"monday"/],
    ['0 0 31 2,4 *', /day 31 of month 2,4, which never comes/],
    ['@fortnightly', /@daily/],
    ['@every soon', /@every 6h/],
    ['CRON_TZ=UTC 0 2 * * *', /--timezone/],
  ])('%s is refused', (text, why) => {
    expect(() => checkCron(text)).toThrow(why);
  });
});

describe('other times', () => {
  it('a time zone is one by name, or the nearest is told', () => {
    expect(checkTimezone('America/New_York')).toBe('America/New_York');
    expect(() => checkTimezone('Europe/Berln')).toThrow(/"Europe\/Berln"\. Did you mean Europe\/Berlin/);
    expect(() => checkTimezone('+02:00')).toThrow(/name of a time zone/);
  });

  it('durations have a unit and bounds', () => {
    const parse = durationOption(10_000, 86_400_000);
    expect([parse('90s'), parse('1h'), parse('1d')]).toEqual([90_000, 3_600_000, 86_400_000]);
    for (const text of ['5', '5s', '2d', '1w', '-1h', ''])
      expect(() => parse(text)).toThrow(/from 10s to 1d/);
    expect([90_000, 3_600_000, 0].map(durationWords)).toEqual(['90s', '1h', '0s']);
  });

  it('a moment says its offset, a day is UTC', () => {
    expect(momentOption('--from', '2026-11-30').toISOString()).toBe('2026-11-30T00:00:00.000Z');
    expect(momentOption('--from', '2026-11-30T02:00+02:00').toISOString()).toBe('2026-11-30T00:00:00.000Z');
    for (const text of ['yesterday', '2026-13-01', '2026-11-30T02:00']) {
      expect(() => momentOption('--from', text)).toThrow(/--from/);
    }
  });
});
