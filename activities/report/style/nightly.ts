/** Marks and table of the report of a schedule. */
export const NIGHTLY = `
.nights .gap{stroke:var(--line2);stroke-width:2;stroke-dasharray:1 5;stroke-linecap:round}
.nights .joined{stroke:var(--accent);stroke-width:2}.nights .joined.whole{stroke:var(--before);stroke-width:1.5;stroke-dasharray:5 4}
.nights .whisker{stroke:var(--accent);stroke-width:3;stroke-linecap:round;opacity:.35}
.nights .rate{fill:var(--accent)}.nights .whole{fill:var(--surface);stroke:var(--before);stroke-width:1.5}
.nights .ring{fill:none;stroke:var(--loss);stroke-width:2}.nights .fell .rate{fill:var(--loss)}.nights .fell .whisker{stroke:var(--loss)}
.nights-table .plain td:last-child{text-align:left;white-space:normal;min-width:22em}.nights-table .plain td:nth-child(2),.nights-table .plain td:nth-child(3){text-align:left}
.nights-table td small{display:block;color:var(--ink3)}.nights-table td small.loss{color:var(--loss)}
.nights-table .note-line{display:block;overflow-wrap:anywhere;font-size:12.5px;color:var(--ink2)}`;
