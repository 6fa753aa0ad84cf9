/** What every chart shares: an SVG root with title and description for screen readers, and axis helpers. */
import { type Html, html, type Part } from '../html.js';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Inner margins of a chart in its own units. */
export interface Margin {
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly left: number;
}

/**
 * A scaling chart (has a view box): for charts that sit in narrow cards, where scale stays near 1.
 * `id` is unique in the page: title and description are referred to by it.
 */
export function scalingSvg(id: string, title: string, about: string, size: Size, body: Part): Html {
  return html`<svg class="chart" role="img" aria-labelledby="${id}-t ${id}-d" viewBox="0 0 ${size.width} ${size.height}" preserveAspectRatio="xMidYMid meet"><title id="${id}-t">${title}</title><desc id="${id}-d">${about}</desc>${body}</svg>`;
}

/**
 * A fluid chart (no view box): full width, fixed height in CSS pixels, positions in percent, so that text keeps its
 * size from a phone to a wide screen.
 */
export function fluidSvg(id: string, title: string, about: string, height: number, body: Part): Html {
  return html`<svg class="chart fluid" role="img" aria-labelledby="${id}-t ${id}-d" width="100%" height="${height}"><title id="${id}-t">${title}</title><desc id="${id}-d">${about}</desc>${body}</svg>`;
}

/** A number for an SVG attribute: two decimals at most. */
export function px(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** A share as a percentage for an SVG attribute, kept within [0, 1]; what is no number stands at 0. */
export function pct(share: number): string {
  if (!Number.isFinite(share)) return '0%';
  return `${Math.round(Math.min(1, Math.max(0, share)) * 10_000) / 100}%`;
}
