/** Marks of the charts, by class, in the colours of the tokens. */
export const CHARTS = `
.chart{display:block;width:100%;height:auto;overflow:visible}
.chart.fluid{overflow:hidden}
.chart text{font:11px var(--sans);fill:var(--ink3)}
.chart.fluid text{font-size:12px}
.chart .grid,.track .grid{stroke:var(--line);stroke-width:1}
.chart .baseline{stroke:var(--line2);stroke-width:1}
.chart .line{fill:none;stroke:var(--accent);stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.chart .area{fill:var(--accent);opacity:.09}
.chart .dots circle{fill:var(--accent)}.chart .final{fill:var(--accent);stroke:var(--surface);stroke-width:2}
.chart .run path{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.chart .run.before path{stroke:var(--before);stroke-dasharray:5 4}.chart .run.after path{stroke:var(--accent)}
.chart .run.before circle{fill:var(--surface);stroke:var(--before);stroke-width:1.5}.chart .run.after circle{fill:var(--accent)}
.chart .parts{stroke:var(--loss);stroke-width:1.5;stroke-dasharray:1.5 3;stroke-linecap:round}
.metrics+.quiet{margin-top:14px}
.runs-cards{grid-template-columns:minmax(0,1fr)}.smalls.four{grid-template-columns:repeat(auto-fit,minmax(210px,1fr))}.smalls.four .card:last-child:nth-child(odd){grid-column:auto}
.left .plain td,.left .plain thead th:not(:first-child){text-align:left}.left .plain td{white-space:normal;overflow-wrap:anywhere}
.chart .bars rect{fill:var(--accent)}
.m-systemErrors .bars rect{fill:var(--loss)}
.chart .empty{font-size:13px}
.chart .s0{fill:var(--s0)}.chart .s1{fill:var(--s1)}.chart .s2{fill:var(--s2)}.chart .s3{fill:var(--s3)}.chart .s4{fill:var(--s4)}
.swatch.s0::before{background:var(--s0)}.swatch.s1::before{background:var(--s1)}.swatch.s2::before{background:var(--s2)}.swatch.s3::before{background:var(--s3)}.swatch.s4::before{background:var(--s4)}
.metrics{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:16px}
.metric{padding:14px 16px 12px}.metric figcaption{margin-bottom:8px}.metric.wide figcaption{display:flex;justify-content:space-between;align-items:baseline;flex-wrap:wrap;gap:4px 16px}
.metric .now{font-size:14px;color:var(--ink3);display:flex;gap:7px}.metric .now b{color:var(--ink);font-weight:650}
.metric .about{font-size:12.5px;line-height:1.35;color:var(--ink3);margin-top:8px}
.metric.wide{grid-column:1/-1}
.band.retained rect{fill:var(--accent)}.hatch-ground{fill:var(--sunken)}.hatch-line{stroke:var(--line2);stroke-width:4}
.band .value{font-size:15px!important;font-weight:650;fill:var(--ink)!important}.band .name{fill:var(--ink2)!important}
.band .range{font-size:11px!important}
.track{display:block;overflow:visible;height:auto;margin:0}
.track .rail{stroke:var(--line);stroke-width:1.5}
.track .bar{stroke-width:3}.track .bar.up{stroke:var(--gain);opacity:.45}.track .bar.down{stroke:var(--loss);opacity:.55}.track .bar.even{stroke:none}
.track circle.before{fill:var(--surface);stroke:var(--before);stroke-width:2}
.track circle.after{fill:var(--accent)}.track circle.after.down{fill:var(--loss)}
.track .whisker{stroke-width:3;stroke-linecap:round}.track .whisker.before{stroke:var(--before);opacity:.45}.track .whisker.after{stroke:var(--accent);opacity:.4}
.scores .track{width:calc(100% - 14px);margin:5px 7px 0}
.tasks{columns:2;column-gap:48px}
.tasks li{display:grid;grid-template-columns:minmax(0,17em) minmax(60px,1fr) 4.2em;gap:16px;align-items:center;break-inside:avoid;font-size:13px;line-height:1.3;padding:2px 0}
.tasks .name{display:flex;gap:6px;align-items:center;min-width:0}.tasks .name{gap:0}.tasks .name em,.tasks .name abbr{margin-left:6px}.tasks .name>span{white-space:nowrap}.tasks .file{overflow:hidden;text-overflow:ellipsis;color:var(--ink3);flex:0 1000 auto;min-width:0}.tasks .leaf{flex:0 0 auto;max-width:100%;overflow:hidden;text-overflow:ellipsis}
.tasks .nums{text-align:right;white-space:nowrap;color:var(--ink3)}.tasks .nums b{color:var(--ink)}
.tasks abbr{text-decoration:none;font-size:11px;color:var(--ink3);border:1px solid var(--line2);border-radius:4px;padding:0 4px;flex:none}
em.gained,em.lost{font-style:normal;font-size:11.5px;font-weight:600;border-radius:4px;padding:0 6px;flex:none;background:var(--accent-soft);color:var(--accent)}
em.lost{background:var(--loss-soft);color:var(--loss)}
.named{margin-top:12px;font-size:13.5px;line-height:1.7;color:var(--ink3)}.named code{color:var(--ink2)}.named em{margin-right:6px;padding:1px 7px}
.tasks+.legend,.folded>.legend{margin:0 0 12px}
.passes .after rect{fill:var(--g3)}.passes .after.all rect{fill:var(--g5)}
.passes .before rect{fill:var(--line2)}.passes .before.all rect{fill:var(--before)}
.passes text{font-size:11.5px!important}.passes .all text{font-weight:650;fill:var(--ink)!important;font-size:13px!important}
.passes .axis text{fill:var(--ink3)!important;font-weight:400}`;
