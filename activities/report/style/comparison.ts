/** What only comparisons have: the headline table, differences, the cost front, runs of moved tasks. */
export const COMPARISON = `
.plain.left thead th:not(:first-child){text-align:left}.part>h2+.scroll{margin-top:14px}
.figures{background:var(--surface);border:1px solid var(--line);border-radius:var(--r);border-collapse:separate;border-spacing:0;box-shadow:var(--shadow);font-size:15px}
.figures th,.figures td{padding:9px 20px;border-top:1px solid var(--line);text-align:right;white-space:nowrap;vertical-align:baseline;overflow-wrap:normal}
.figures thead th{border-top:0;white-space:normal;overflow-wrap:anywhere}.figures th:first-child{text-align:left;font-weight:400;color:var(--ink2)}
.figures .lead th,.figures .lead td{font-size:17px}.figures .lead th{color:var(--ink);font-weight:600}
.figures b{font-weight:650}.figures small{color:var(--ink3);margin-left:7px;font-size:.86em}.figures td.change{color:var(--ink2)}.figures td.change small{display:block;margin:0;font-size:12.5px}
.figures .rule th,.figures .rule td{border-top:2px solid var(--line2)}
.chart .front line{stroke:var(--accent);stroke-width:2;opacity:.55}
.chart .dot circle{fill:var(--surface);stroke:var(--line2);stroke-width:2.5}.chart .dot .whisker{stroke:var(--line2);stroke-width:2}
.chart .dot.before circle{stroke:var(--before)}.chart .dot.after circle{fill:var(--accent);stroke:var(--accent)}.chart .dot.best.other circle{stroke:var(--accent)}
.chart .name{font-size:13px!important;fill:var(--ink2)!important;paint-order:stroke;stroke:var(--surface);stroke-width:4px;stroke-linejoin:round}.chart .name.after{font-weight:650;fill:var(--ink)!important}
.chart .curve line{stroke-width:2.5;stroke-linecap:round}.chart .curve.before line{stroke:var(--before)}.chart .curve.after line{stroke:var(--accent)}
.chart .curve.before circle{fill:var(--surface);stroke:var(--before);stroke-width:2}.chart .curve.after circle{fill:var(--accent)}
.track.diff .zero{stroke:var(--line2);stroke-width:1.5}.track.diff .reach{stroke-width:4;stroke-linecap:round;opacity:.4}
.track.diff .reach.up{stroke:var(--gain)}.track.diff .reach.down{stroke:var(--loss)}.track.diff .reach.even{stroke:var(--before)}
.track.diff .point{stroke-width:2;fill:var(--surface)}.track.diff .point.up{stroke:var(--gain)}.track.diff .point.down{stroke:var(--loss)}.track.diff .point.even{stroke:var(--before)}
.track.diff .point.up.clear{fill:var(--gain)}.track.diff .point.down.clear{fill:var(--loss)}
.two{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:16px}
.moves{columns:2;column-gap:40px;margin-top:6px}
.moves li{break-inside:avoid;padding:6px 0;border-bottom:1px solid var(--line);font-size:13px}
.moves .head{display:flex;justify-content:space-between;gap:12px;align-items:baseline}.moves .tid{font:600 12.5px var(--mono);min-width:0}
.moves a,.sources a{color:var(--accent);text-decoration-thickness:1px;text-underline-offset:3px}
.moves .nums{color:var(--ink3);white-space:nowrap}.moves .nums b{color:var(--ink)}
.runs{display:grid;grid-template-columns:3.6em minmax(0,1fr);gap:3px 8px;align-items:center;margin-top:4px;font-size:11.5px;color:var(--ink3)}
.runs .strip{display:flex;gap:2px}.runs .strip i{flex:1 1 0;height:9px;border-radius:2px;background:var(--g0)}
.runs .strip i.p{background:var(--g4)}.runs .after i.p{background:var(--g5)}.runs .strip i.n{background:none;border:1px dashed var(--line2)}
.sources li{font-size:13.5px;padding:3px 0;color:var(--ink2)}
.part h3+.moves,.part h3+.quiet{margin-top:6px}.part .moves+h3,.part .fold+h3{margin-top:26px}
@media screen and (max-width:900px){.figures th:first-child{white-space:normal;min-width:8.5em}.two{grid-template-columns:minmax(0,1fr)}.moves{columns:1}.figures th,.figures td{padding:8px 12px}}
@media screen and (max-width:640px){.figures{font-size:13.5px}.figures .lead th,.figures .lead td{font-size:14px}.figures th,.figures td{padding:8px 10px}.figures small{display:block;margin:0}.figures td.change small{display:none}}`;
