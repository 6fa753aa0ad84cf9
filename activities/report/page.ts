/** One self-contained document: no script, no network (a policy in the head forbids both), styles inside. */
import { type Html, html, type Part, raw } from './html.js';
import { STYLE } from './style/index.js';

export interface NavItem {
  readonly id: string;
  readonly label: string;
}

/** `description` is for people who are sent a link or a file. */
export function page(
  title: string,
  description: string,
  nav: readonly NavItem[],
  head: Part,
  body: Part,
): string {
  const document: Html = html`${raw('<!doctype html>')}
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"><meta name="color-scheme" content="light dark"><meta name="generator" content="Steadfast"><meta name="description" content="${description}"><title>${title}</title><link rel="icon" href="data:,"><style>${raw(STYLE)}</style></head><body><a class="skip" href="#main">Skip to the results</a><div class="wrap">${head}${nav.length > 1 && html`<nav class="toc" aria-label="Sections">${nav.map((item) => html`<a href="#${item.id}">${item.label}</a>`)}</nav>`}<main id="main">${body}</main></div></body></html>
`;
  return document.text;
}
