/** Candidates per difficulty band: five columns, hardest first; retained bands filled, the others hatched. */
import type { BandReport } from '../../../core/report-data.js';
import { count, plural } from '../format.js';
import { type Html, html } from '../html.js';
import { fluidSvg, pct } from './frame.js';

const HEIGHT = 252;
const TOP = 24;
const FLOOR = 172;

export function bandRange(band: BandReport): string {
  return `${band.low.toFixed(2)}–${band.high.toFixed(2)}`;
}

function column(id: string, band: BandReport, index: number, columns: number, most: number): Html {
  const centre = (index + 0.5) / columns;
  const height = most > 0 ? ((FLOOR - TOP) * band.tasks) / most : 0;
  const words = band.name.split(' ');
  const text = `${band.name} (${bandRange(band)}): ${plural(band.tasks, 'candidate')}, ${band.retained ? 'retained' : 'left out'}`;
  return html`<g class="${band.retained ? 'band retained' : 'band'}"><title>${text}</title><rect x="${pct(centre - 0.38 / columns)}" y="${FLOOR - Math.max(height, band.tasks > 0 ? 2 : 0)}" width="${pct(0.76 / columns)}" height="${Math.max(height, band.tasks > 0 ? 2 : 0)}" rx="3"${!band.retained && html` fill="url(#${id}-hatch)"`}/><text class="value" x="${pct(centre)}" y="${FLOOR - height - 7}" text-anchor="middle">${count(band.tasks)}</text>${words.map((word, line) => html`<text class="name" x="${pct(centre)}" y="${FLOOR + 18 + 15 * line}" text-anchor="middle">${word}</text>`)}<text class="range" x="${pct(centre)}" y="${FLOOR + 68}" text-anchor="middle">${bandRange(band)}</text></g>`;
}

export function bandChart(id: string, bands: readonly BandReport[]): Html {
  const most = Math.max(0, ...bands.map((band) => band.tasks));
  const about = bands.map((band) => `${band.name} ${count(band.tasks)}`).join(', ');
  return fluidSvg(
    id,
    'Candidates by difficulty band',
    about,
    HEIGHT,
    html`<defs><pattern id="${id}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-ground" width="6" height="6"/><line class="hatch-line" x1="0" x2="0" y1="0" y2="6"/></pattern></defs>${bands.map((band, index) => column(id, band, index, bands.length, most))}<line class="baseline" x1="0" x2="100%" y1="${FLOOR}" y2="${FLOOR}"/>`,
  );
}
