/**
 * How many tasks pass how many of their k attempts: after upwards, before downwards, on one scale.
 * Training that works moves tasks to the right; the last column is the only one that can be depended on.
 */
import type { TaskScore } from '../../../core/report-data.js';
import { count, plural } from '../format.js';
import { type Html, html } from '../html.js';
import { fluidSvg, pct } from './frame.js';

export interface PassBin {
  readonly low: number;
  readonly high: number;
  readonly label: string;
}

const MOST_BINS = 23;
const HALF = 92;
const GAP = 20;
const TOP = 16;

/** One bin for 0, one for k, and between them one for each count, or equal ranges when k is large. */
export function passBins(k: number): readonly PassBin[] {
  const width = Math.max(1, Math.ceil((k - 1) / (MOST_BINS - 2)));
  const bins: PassBin[] = [{ low: 0, high: 0, label: '0' }];
  for (let low = 1; low < k; low += width) {
    const high = Math.min(k - 1, low + width - 1);
    bins.push({ low, high, label: low === high ? String(low) : `${low}–${high}` });
  }
  bins.push({ low: k, high: k, label: String(k) });
  return bins;
}

function tally(tasks: readonly TaskScore[], bins: readonly PassBin[]): readonly number[] {
  return bins.map((bin) => tasks.filter((task) => task.passed >= bin.low && task.passed <= bin.high).length);
}

export function passesChart(
  id: string,
  k: number,
  before: readonly TaskScore[] | null,
  after: readonly TaskScore[] | null,
): Html {
  const bins = passBins(k);
  const up = tally(after ?? [], bins);
  const down = tally(before ?? [], bins);
  const most = Math.max(1, ...up, ...down);
  const axis = TOP + HALF + GAP / 2;
  const height = axis + GAP / 2 + (before ? HALF : 0) + (before ? TOP : 6);
  const column = (value: number, index: number, kind: 'before' | 'after'): Html | false => {
    if (value === 0) return false;
    const size = Math.max(2, (HALF * value) / most);
    const bin = bins[index] as PassBin;
    const centre = (index + 0.5) / bins.length;
    const y = kind === 'after' ? axis - GAP / 2 - size : axis + GAP / 2;
    const text = `${kind}: ${plural(value, 'task')} passed ${bin.label} of ${k} attempts`;
    return html`<g class="${kind}${bin.low === k ? ' all' : ''}"><title>${text}</title><rect x="${pct(centre - 0.4 / bins.length)}" y="${y}" width="${pct(0.8 / bins.length)}" height="${size}" rx="2"/><text x="${pct(centre)}" y="${kind === 'after' ? y - 4 : y + size + 12}" text-anchor="middle">${count(value)}</text></g>`;
  };
  // Every label on a wide screen would be too many on a phone: every fifth, and both ends.
  const labelled = (bin: PassBin, index: number): boolean =>
    index === 0 ||
    index === bins.length - 1 ||
    (k <= 24 ? bin.low % 5 === 0 && k - bin.low > 1 : index % 5 === 0);
  return fluidSvg(
    id,
    `Tasks by how many of ${k} attempts passed`,
    `${before ? `Before: ${plural(down.at(-1) ?? 0, 'task')} at ${k} of ${k}. ` : ''}After: ${plural(up.at(-1) ?? 0, 'task')} at ${k} of ${k}.`,
    height,
    html`<g class="passes">${up.map((value, index) => column(value, index, 'after'))}${before && down.map((value, index) => column(value, index, 'before'))}<g class="axis">${bins.map(
      (bin, index) =>
        labelled(bin, index) &&
        html`<text x="${pct((index + 0.5) / bins.length)}" y="${axis + 4}" text-anchor="middle">${bin.label}</text>`,
    )}</g></g>`,
  );
}
