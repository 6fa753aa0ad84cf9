/** The frame of a section: an anchor, a heading, one paragraph that says what is to be seen, and a fold. */
import { type Html, html, type Part } from '../html.js';

export function section(id: string, title: string, intro: Part, body: Part): Html {
  return html`<section class="part" id="${id}" aria-labelledby="${id}-h"><h2 id="${id}-h">${title}</h2>${intro && html`<p class="intro">${intro}</p>`}${body}</section>`;
}

export function fold(summary: Part, body: Part, open = false): Html {
  return html`<details class="fold"${open && html` open`}><summary>${summary}</summary><div class="folded">${body}</div></details>`;
}

/** A plain table of text cells; the first column is the row's heading. Scrolls inside itself when it is wide. */
export function plainTable(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly Part[])[],
): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table class="plain"><caption class="unseen">${caption}</caption><thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${rows.map(
    (row) =>
      html`<tr>${row.map((cell, index) => (index === 0 ? html`<th scope="row">${cell}</th>` : html`<td>${cell}</td>`))}</tr>`,
  )}</tbody></table></div>`;
}
