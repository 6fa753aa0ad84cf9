/** Numbers, times and digests as people read them. English, UTC, no locale: the same report everywhere. */
import type { Estimate } from '../../core/report-data.js';

const MINUS = '\u2212';
const NARROW = '\u202f';

function signed(value: number, text: string): string {
  return value < 0 ? `${MINUS}${text}` : text;
}

/** `12,345`. Fractions are rounded. */
export function count(value: number): string {
  const digits = Math.abs(Math.round(value)).toString();
  return signed(Math.round(value), digits.replace(/\B(?=(\d{3})+$)/g, ','));
}

/** `3.2 M`, `48 k`, `812`: large counts where there is little room. */
export function compact(value: number): string {
  for (const [size, unit] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (Math.abs(value) >= size) return `${number(value / size)}${NARROW}${unit}`;
  }
  return count(value);
}

/** `1 task`, `12 tasks`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A share as `18.8 %`; whole percents stay whole at 0 and 100. */
export function percent(share: number, decimals = 1): string {
  if (!Number.isFinite(share)) return '–';
  const value = Math.abs(share) * 100;
  return signed(share, `${value === 0 || value === 100 ? value : value.toFixed(decimals)}${NARROW}%`);
}

/** A difference of shares in points: `+14.6 pts`. */
export function points(difference: number): string {
  if (!Number.isFinite(difference)) return '–';
  const text = `${Math.abs(difference * 100).toFixed(1)} pts`;
  return difference > 0 ? `+${text}` : signed(difference, text);
}

/** `12.0–24.5 %`, or nothing where no interval is defined. */
export function interval(estimate: Estimate, decimals = 1): string {
  if (estimate.low === null || estimate.high === null) return '';
  if (!Number.isFinite(estimate.low) || !Number.isFinite(estimate.high)) return '';
  return `${(estimate.low * 100).toFixed(decimals)}–${(estimate.high * 100).toFixed(decimals)}${NARROW}%`;
}

/** Three significant digits without exponents for everyday sizes: `0.0123`, `4.56`, `1,230`. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1000) return count(value);
  if (size < 0.0001) return value.toExponential(1).replace('-', MINUS);
  const decimals = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(size))));
  return signed(
    value,
    size
      .toFixed(decimals)
      .replace(/(\.\d*?)0+$/, '$1')
      .replace(/\.$/, ''),
  );
}

/** Dollars: cents from one dollar on, three significant digits below. */
export function dollars(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '$0';
  if (Math.abs(value) >= 1) {
    const [whole = '0', cents = '00'] = Math.abs(value).toFixed(2).split('.');
    return signed(value, `$${count(Number(whole))}.${cents}`);
  }
  if (Math.abs(value) < 1e-6) return 'under $0.000001';
  const size = Math.abs(value);
  const decimals = Math.min(8, 2 - Math.floor(Math.log10(size)));
  // Trailing zeros beyond the cents say nothing: $0.10, not $0.100.
  return signed(value, `$${size.toFixed(decimals).replace(/^(0\.\d\d\d*?)0+$/, '$1')}`);
}

/** `850 ms`, `12.3 s`, `4 min 05 s`, `2 h 03 min`, `3 d 4 h`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '–';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${pad(Math.floor((whole % 3600) / 60))} min`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

/** `2026-11-29 20:38 UTC`; text that is no date stays as it is. */
export function moment(iso: string): string {
  const time = Date.parse(iso);
  return Number.isNaN(time) ? iso : `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** `2026-11-29 20:38:05 UTC`, where two times may lie within one minute; text that is no date stays as it is. */
export function exactMoment(iso: string): string {
  const time = Date.parse(iso);
  return Number.isNaN(time) ? iso : `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Seconds between two ISO times, or null. */
export function secondsBetween(from: string, to: string | null): number | null {
  if (to === null) return null;
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  return Number.isFinite(seconds) ? seconds : null;
}

/** First 12 hex digits of a digest. */
export function shortDigest(digest: string): string {
  return digest.replace(/^sha256:/, '').slice(0, 12);
}

/** `k/k` as in `20/20`. */
export function kOfK(k: number): string {
  return `${k}/${k}`;
}
