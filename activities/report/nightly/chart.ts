/** Success over the nights: pass@1 with its interval, k/k, marked regressions, and a gap where there is no score. */

import { stepTicks } from '../charts/axis.js';
import { fluidSvg, pct, px } from '../charts/frame.js';
import { interval, moment, percent } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { type Entry, nightWord } from './data.js';

const HEIGHT = 250;
const TOP = 14;
const FLOOR = HEIGHT - 30;
/** More nights than this have smaller marks. */
const CROWDED = 60;

export function nightsChart(entries: readonly Entry[]): Html {
  const scored = entries.filter(({ night }) => night?.record.score);
  const last = scored.at(-1)?.night?.record.score;
  const marked = entries.filter(({ night }) => night?.record.regression).length;
  const about = last
    ? `${scored.length} nights with a score, ${entries.length - scored.length} without, ${marked} marked as a regression; the last: pass@1 ${percent(last.passAt1.value)}, ${last.k}/${last.k} ${percent(last.observedK.value)}.`
    : 'no night has a score yet.';
  const x = (index: number): number =>
    entries.length === 1 ? 0.53 : 0.08 + (0.9 * index) / (entries.length - 1);
  return fluidSvg(
    'nights',
    'Success over the nights',
    about,
    HEIGHT,
    html`<g class="axis">${[0, 0.25, 0.5, 0.75, 1].map(
      (share) =>
        html`<line class="grid" x1="0" x2="100%" y1="${px(y(share))}" y2="${px(y(share))}"/><text x="0" y="${px(y(share) - 3)}">${percent(share, 0)}</text>`,
    )}${dates(entries).map(
      ([index, text], place, all) =>
        html`<text x="${pct(x(index))}" y="${HEIGHT - 8}" text-anchor="${anchor(place, all.length)}">${text}</text>`,
    )}</g>${gaps(entries, x)}${lines(entries, x)}${entries.map((entry, index) => marks(entry, x(index), entries.length > CROWDED))}`,
  );
}

function y(share: number): number {
  return FLOOR - Math.min(1, Math.max(0, share)) * (FLOOR - TOP);
}

function anchor(place: number, count: number): string {
  if (count === 1) return 'middle';
  if (place === 0) return 'start';
  return place === count - 1 ? 'end' : 'middle';
}

/** Days, or with hours where several nights share one. */
function dates(entries: readonly Entry[]): readonly (readonly [number, string])[] {
  if (entries.length === 0) return [];
  const days = new Set(entries.map(({ at }) => at.slice(0, 10)));
  const ticks = stepTicks(0, entries.length - 1);
  return ticks.map((index) => {
    const text = moment(entries[index]!.at).replace(' UTC', '');
    return [index, days.size === entries.length ? text.slice(5, 10) : text.slice(5)];
  });
}

function gaps(entries: readonly Entry[], x: (index: number) => number): Part {
  return entries.map((entry, index) => {
    if (entry.night?.record.score) return null;
    const at = pct(x(index));
    const why = entry.night?.record.cause;
    return html`<line class="gap" x1="${at}" x2="${at}" y1="${TOP}" y2="${FLOOR}"><title>${moment(entry.at)}: ${nightWord(entry)}${why && `, ${why}`}</title></line>`;
  });
}

/** Joined only where two neighbours have a score: a gap stays one. */
function lines(entries: readonly Entry[], x: (index: number) => number): Part {
  return entries.slice(1).map((entry, index) => {
    const before = entries[index]!.night?.record.score;
    const after = entry.night?.record.score;
    if (!before || !after) return null;
    const [x1, x2] = [pct(x(index)), pct(x(index + 1))];
    return html`<line class="joined whole" x1="${x1}" x2="${x2}" y1="${px(y(before.observedK.value))}" y2="${px(y(after.observedK.value))}"/><line class="joined" x1="${x1}" x2="${x2}" y1="${px(y(before.passAt1.value))}" y2="${px(y(after.passAt1.value))}"/>`;
  });
}

function marks({ at, night }: Entry, place: number, crowded: boolean): Part {
  const score = night?.record.score;
  if (!night || !score) return null;
  const { passAt1, observedK, k } = score;
  const x = pct(place);
  const marked = night.record.regression === true;
  const whisker =
    passAt1.low !== null && passAt1.high !== null
      ? html`<line class="whisker" x1="${x}" x2="${x}" y1="${px(y(passAt1.low))}" y2="${px(y(passAt1.high))}"/>`
      : null;
  const ring = marked ? html`<circle class="ring" cx="${x}" cy="${px(y(passAt1.value))}" r="9"/>` : null;
  const words = `${moment(at)}: pass@1 ${percent(passAt1.value)}${passAt1.low === null ? '' : ` (${interval(passAt1)})`}, ${k}/${k} ${percent(observedK.value)}${marked ? ', regression' : ''}${score.incomplete === undefined ? '' : `, incomplete: ${score.incomplete}`}`;
  return html`<g class="${`night${marked ? ' fell' : ''}`}">${whisker}<circle class="whole" cx="${x}" cy="${px(y(observedK.value))}" r="${crowded ? 2 : 3.5}"/>${ring}<circle class="rate" cx="${x}" cy="${px(y(passAt1.value))}" r="${crowded ? 2.5 : 4.5}"><title>${words}</title></circle></g>`;
}
