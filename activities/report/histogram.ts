/** The band histogram as an SVG file of its own, for `select` and for documents. Colours for light and dark built in. */
import type { BandReport } from '../../core/report-data.js';
import { bandRange } from './charts/bands.js';
import { count } from './format.js';
import { escapeHtml } from './html.js';

const WIDTH = 720;
const HEIGHT = 320;
const TOP = 56;
const FLOOR = 240;

const STYLE = `text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#4a5060}
.title{font-size:17px;font-weight:650;fill:#16181d}.value{font-size:16px;font-weight:650;fill:#16181d}
.ground{fill:#fff}.kept{fill:#0b62b0}.out{fill:#c9cdd4}.base{stroke:#8a8f99}
@media(prefers-color-scheme:dark){text{fill:#b3bac6}.title,.value{fill:#e9ebee}.ground{fill:#12161c}.kept{fill:#5eb0ff}.out{fill:#3d4552}}`;

/** Bands hardest first. The title names what was assessed. */
export function bandHistogramSvg(bands: readonly BandReport[], title: string): string {
  const most = Math.max(1, ...bands.map((band) => band.tasks));
  const width = (WIDTH - 40) / Math.max(1, bands.length);
  const columns = bands.map((band, index) => {
    const centre = 20 + width * (index + 0.5);
    const height = ((FLOOR - TOP - 24) * band.tasks) / most;
    const text = (y: number, content: string, name = ''): string =>
      `<text${name ? ` class="${name}"` : ''} x="${centre.toFixed(1)}" y="${y}" text-anchor="middle">${escapeHtml(content)}</text>`;
    const words = band.name.split(' ');
    const last = words.pop() ?? '';
    const first = words.join(' ');
    return `<rect class="${band.retained ? 'kept' : 'out'}" x="${(centre - width * 0.36).toFixed(1)}" y="${(FLOOR - height).toFixed(1)}" width="${(width * 0.72).toFixed(1)}" height="${height.toFixed(1)}" rx="3"/>${text(Math.round(FLOOR - height - 8), count(band.tasks), 'value')}${text(FLOOR + 20, first || last)}${first ? text(FLOOR + 37, last) : ''}${text(FLOOR + 57, `${bandRange(band)}${band.retained ? ' · retained' : ''}`)}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="t"><title id="t">${escapeHtml(title)}</title><style>${STYLE}</style><rect class="ground" width="${WIDTH}" height="${HEIGHT}"/><text class="title" x="20" y="32">${escapeHtml(title)}</text>${columns.join('')}<line class="base" x1="20" x2="${WIDTH - 20}" y1="${FLOOR}" y2="${FLOOR}"/></svg>\n`;
}
