/** Marks and table of the report of a schedule. */
export const NIGHTLY = `
.nights .gap{stroke:var(--line2);stroke-width:2;stroke-dasharray:1 5;stroke-linecap:round}
.nights .joined{stroke:var(--accent);stroke-width:2}.nights .joined.whole{stroke:var(--before);stroke-width:1.5;stroke-dasharray:5 4}
.nights .whisker{stroke:var(--accent);stroke-width:3;stroke-linecap:round;opacity:.35}
.nights .rate{fill:var(--accent)}.nights .whole{fill:var(--surface);stroke:var(--before);stroke-width:1.5}
.nights .ring{fill:none;stroke:var(--loss);stroke-width:2}.nights .fell .rate{fill:var(--loss)}.nights .fell .whisker{stroke:var(--loss)}
.nights-table .plain td:nth-child(2),.nights-table .plain td:nth-child(3),.nights-table .plain thead th:nth-child(2),.nights-table .plain thead th:nth-child(3){text-align:left}
.nights-table .plain td:nth-child(2){white-space:normal;min-width:15em;max-width:22em}
.nights-table small{display:block;font-weight:400;color:var(--ink3)}.nights-table small.loss{color:var(--loss)}
.nights-table .note-line{display:block;overflow-wrap:anywhere;font-size:12.5px;line-height:1.35;color:var(--ink2)}`;
