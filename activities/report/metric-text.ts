/** A step metric as text, by its unit: in tables and captions, and shorter on an axis. */
import { type MetricSpec, STEP_METRICS, type StepMetric } from '../../core/step-metrics.js';
import { decimalsOf } from './charts/axis.js';
import { count, duration, number, percent } from './format.js';

export function metricText(metric: StepMetric, value: number | boolean | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const { unit }: MetricSpec = STEP_METRICS[metric];
  if (unit === 'share') return percent(value, value !== 0 && Math.abs(value) < 0.01 ? 2 : 1);
  if (unit === 'seconds') return duration(value);
  if (unit === 'count' || (unit === 'tokens' && Math.abs(value) >= 1000)) return count(value);
  return number(value);
}

/** Label of one tick: as many decimals as tell the ticks apart, no more. */
export function tickText(metric: StepMetric, value: number, ticks: readonly number[]): string {
  const { unit }: MetricSpec = STEP_METRICS[metric];
  if (unit === 'share') return percent(value, decimalsOf(ticks, 100));
  if (value === 0) return '0';
  if (Math.abs(value) >= 1000 || Math.abs(value) < 1e-4) return number(value);
  return value.toFixed(decimalsOf(ticks)).replace('-', '\u2212');
}
