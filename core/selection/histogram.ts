/** The band histogram: how hard the candidates are for this policy, before anything is trained. */
import type { BandReport } from '../report-data.js';
import { BANDS } from './bands.js';
import type { Selection } from './select.js';

const BAR_WIDTH = 40;

/** Assessed tasks per band, hardest first. */
export function bandHistogram({ assessed, options }: Selection): BandReport[] {
  return BANDS.map(({ band, name, low, high }) => ({
    band,
    name,
    low,
    high,
    tasks: assessed.filter(({ posterior }) => posterior.band === band).length,
    retained: options.retainBands.includes(band),
  }));
}

/** One line a band: name, range, bar, count, and a mark where the band is retained. Plain text, 80 columns. */
export function histogramText(bands: readonly BandReport[]): string {
  const most = Math.max(1, ...bands.map(({ tasks }) => tasks));
  const lines = bands.map(({ name, low, high, tasks, retained }) => {
    const length = tasks === 0 ? 0 : Math.max(1, Math.round((tasks / most) * BAR_WIDTH));
    const bar = (retained ? '█' : '░').repeat(length);
    const range = `${low.toFixed(2)}-${high.toFixed(2)}`;
    return `${name.padEnd(20)}  ${range}  ${bar} ${tasks}${retained ? '' : ' (left out)'}`;
  });
  return `${lines.join('\n')}\n`;
}
