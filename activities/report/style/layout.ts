/** The page: header, cards, sections, tables, folds. Phone first would be the same rules: nothing has a fixed width. */
export const LAYOUT = `
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
body{margin:0;background:var(--bg);color:var(--ink);font:15.5px/1.55 var(--sans);font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.wrap{max-width:1160px;margin:0 auto;padding:0 28px 64px}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip{position:absolute;left:-999px;color:var(--accent)}.skip:focus{left:12px;top:12px;background:var(--surface);padding:8px 14px;z-index:9;border-radius:8px}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
h1,h2,h3,h4,h5,p,dl,dd,ol,ul,figure{margin:0;padding:0}ol,ul{list-style:none}
code{font:.88em var(--mono)}small{font-size:.84em}
.nowrap{white-space:nowrap}.quiet{color:var(--ink3);font-size:14px}
.from{color:var(--ink3);font-weight:400}.gain{color:var(--gain)}.loss{color:var(--loss)}

.top{padding:36px 0 22px}
.brand{display:flex;align-items:center;gap:8px;font-weight:650;color:var(--accent);letter-spacing:-.005em}
.brand span{color:var(--ink3);font-weight:400}
.title{display:flex;align-items:center;gap:14px;flex-wrap:wrap;margin-top:22px}
h1{font-size:38px;line-height:1.1;letter-spacing:-.025em;font-weight:700}
.pill{font-size:13px;font-weight:600;padding:3px 11px;border-radius:99px;background:var(--accent-soft);color:var(--accent)}
.pill.failed,.pill.stopped{background:var(--loss-soft);color:var(--loss)}
.pill.running,.pill.paused{background:var(--sunken);color:var(--ink2)}
.lede{font-size:20px;line-height:1.45;color:var(--ink2);max-width:47em;margin-top:12px;text-wrap:pretty}
.facts{display:flex;flex-wrap:wrap;gap:10px 34px;margin-top:22px}
.facts dt,.list dt{font-size:12.5px;color:var(--ink3)}.facts dd{font-weight:600}

.toc{position:sticky;top:0;z-index:5;display:flex;gap:4px 20px;overflow-x:auto;scrollbar-width:none;padding:11px 0;margin-bottom:20px;background:color-mix(in srgb,var(--bg) 92%,transparent);backdrop-filter:blur(8px);border-bottom:1px solid var(--line)}
.toc a{color:var(--ink2);text-decoration:none;font-size:14px;white-space:nowrap;overflow-wrap:normal}.toc a:hover{color:var(--accent)}

.banner{border-left:4px solid var(--line2);background:var(--surface);border-radius:4px 10px 10px 4px;padding:12px 18px;margin:0 0 14px;box-shadow:var(--shadow);color:var(--ink2)}
.banner strong{color:var(--ink)}.banner.info{border-color:var(--accent)}.banner.warn,.banner.bad{border-color:var(--loss)}
.banner.bad{background:var(--loss-soft)}.banner ul{margin-top:4px;font-size:13.5px}

.cards{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1.12fr);gap:16px}
.smalls{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:16px}.smalls .card:last-child:nth-child(odd){grid-column:1/-1}
.card,.panel{background:var(--surface);border:1px solid var(--line);border-radius:var(--r);box-shadow:var(--shadow)}
.card{padding:18px 20px}.panel{padding:16px 18px;min-width:0}
.card h2{font-size:14px;font-weight:600;color:var(--ink2);line-height:1.3}
.figure{font-size:25px;letter-spacing:-.025em;line-height:1.2;margin-top:6px;display:flex;align-items:baseline;flex-wrap:wrap;column-gap:8px}
.figure b{font-weight:700}.figure .from,.figure .arrow,.figure .slash{color:var(--ink3);font-weight:400}
.figure .arrow{font-size:.8em}
.card .note{font-size:13.5px;color:var(--ink3);margin-top:6px;line-height:1.4}
.hero{display:flex;flex-direction:column}.hero .figure{font-size:46px}.hero .figure .unit{font-size:17px;letter-spacing:0;color:var(--ink3)}
.hero .grids{display:grid;grid-template-columns:repeat(auto-fit,minmax(180px,1fr));gap:14px 26px;margin-top:12px}
.hero h3{font-size:13px;font-weight:600;color:var(--ink2);margin-bottom:7px;display:flex;justify-content:space-between}
.hero h3 span{font-weight:400;color:var(--ink3)}
.hero .key{margin-top:auto;padding-top:14px;font-size:12.5px;color:var(--ink3);display:flex;flex-wrap:wrap;align-items:center;gap:5px 7px}
.hero .key span{display:inline-flex;align-items:center;gap:6px;margin-right:8px;white-space:nowrap}.hero .key .g{width:12px;height:12px}
.grid-tasks{display:grid;grid-template-columns:repeat(var(--cols),minmax(0,1fr));gap:3px}
.grid-tasks.small{gap:1.5px}.grid-tasks.small .g{border-radius:1.5px}
.g{display:block;aspect-ratio:1;border-radius:3px;background:var(--g0)}
.g1{background:var(--g1)}.g2{background:var(--g2)}.g3{background:var(--g3)}.g4{background:var(--g4)}.g5{background:var(--g5)}
.g.absent{background:none;border:1px dashed var(--line2)}

.part{margin-top:52px;scroll-margin-top:52px}
.part>h2{font-size:24px;letter-spacing:-.02em;line-height:1.2}
.intro{color:var(--ink2);max-width:52em;margin:8px 0 20px;text-wrap:pretty}
.part h3{font-size:15px;font-weight:650}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;color:var(--ink3);margin-top:10px}
.swatch{display:inline-flex;align-items:center;gap:6px}
.swatch::before{content:"";width:11px;height:11px;border-radius:50%;background:var(--accent);flex:none}
.swatch.before::before{background:var(--surface);border:2.5px solid var(--before)}
.swatch.kept::before{border-radius:3px}
.swatch.hatch::before{border-radius:3px;background:repeating-linear-gradient(45deg,var(--line2) 0 2px,var(--sunken) 2px 5px)}
.swatch.stage::before{border-radius:3px}.swatch b{color:var(--ink2);font-weight:600}.intro .swatch{vertical-align:bottom}

table{border-collapse:collapse;width:100%;font-size:14.5px}
th{text-align:left;font-weight:600}thead th{font-size:13px;color:var(--ink3);font-weight:500;vertical-align:bottom}
.scores,.cover{background:var(--surface);border:1px solid var(--line);border-radius:var(--r);border-collapse:separate;border-spacing:0;box-shadow:var(--shadow)}
.scores th,.scores td{padding:10px 20px 9px;border-top:1px solid var(--line);vertical-align:middle}
.scores thead th,.cover thead th{border-top:0;padding-top:12px;padding-bottom:8px}
.scores td{width:25%}.scores .pair{display:flex;align-items:baseline;flex-wrap:wrap;font-size:15px}.scores .pair small{margin-left:auto;color:var(--ink3);font-size:12px;white-space:nowrap}.scores tbody.all .pair{font-size:18px;letter-spacing:-.01em}
.scores .arrow{color:var(--ink3);margin:0 6px}.scores th small{display:block;font-weight:400;color:var(--ink3)}
.scores .group th{font-size:13px;color:var(--ink3);font-weight:500;background:var(--sunken);padding:5px 20px}
.cover th,.cover td{padding:9px 16px;border-top:1px solid var(--line)}.cover td.wide{width:22%}.cover .took{white-space:nowrap}.scroll+.quiet+.quiet{margin-top:2px}
.coverbar{display:flex;height:10px;border-radius:5px;overflow:hidden;background:var(--sunken)}
.coverbar i.clean{background:var(--accent)}.coverbar i.exhausted{background:repeating-linear-gradient(45deg,var(--loss) 0 3px,var(--loss-soft) 3px 6px)}
.scroll{overflow-x:auto;max-width:100%}
.plain{font-size:13.5px;width:auto;min-width:min(100%,620px)}.plain th small{display:block;font-weight:400;color:var(--ink3)}.plain td,.plain thead th:not(:first-child){text-align:right}.plain td:last-child,.plain thead th:last-child{padding-right:0!important}
.plain th,.plain td{padding:6px 22px 6px 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:normal}
.plain td{white-space:nowrap}.plain th[scope=row]{min-width:10em}.plain.left td{text-align:left}
.scroll+.scroll,.quiet+.checks,.scroll+.checks,.checks+.panel,.scroll+.quiet,.panel+.fold,.split+.fold,.metrics+.fold{margin-top:16px}

.fold{border:1px solid var(--line);border-radius:var(--r);background:var(--surface);margin-top:12px}
.fold>summary{padding:12px 18px;cursor:pointer;font-weight:600;font-size:14.5px;list-style-position:outside;display:flex;align-items:center;gap:10px;flex-wrap:wrap}
.fold>summary::-webkit-details-marker{display:none}
.fold>summary::before{content:"";width:7px;height:7px;border:solid var(--ink3);border-width:0 2px 2px 0;transform:rotate(-45deg);flex:none;margin-right:2px}
.fold[open]>summary::before{transform:rotate(45deg)}
.fold>summary:hover{color:var(--accent)}.folded{padding:4px 18px 18px}

.split{display:grid;grid-template-columns:minmax(0,1.7fr) minmax(0,1fr);gap:16px 36px;align-items:start}
.list div,.mini div{display:flex;justify-content:space-between;gap:16px;padding:7px 0;border-bottom:1px solid var(--line)}
.list dd{font-weight:600;text-align:right}.list dt{font-size:14px}
.mini{font-size:13px}.mini dt{color:var(--ink3);min-width:0}.mini dd{text-align:right;min-width:0}
.checks{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));gap:2px 28px}
.checks li{display:flex;gap:10px;padding:7px 0;font-size:14px;color:var(--ink2)}
.checks b{color:var(--accent)}.checks .broken b,.checks .broken strong{color:var(--loss)}.checks strong{color:var(--ink)}
.lineage{display:flex;flex-wrap:wrap;gap:7px 6px;margin-top:12px}
.lineage li{display:flex;align-items:center;gap:7px;font-size:12.5px;background:var(--sunken);border-radius:7px;padding:2px 9px 2px 3px}
.lineage span{background:var(--surface);border-radius:5px;padding:1px 7px;font-weight:600;color:var(--ink2)}
.commands{background:var(--sunken);border-radius:var(--r);padding:14px 18px;overflow-x:auto;margin:0 0 16px;font-size:14px;line-height:1.7}
.commands code{white-space:pre}
.glossary{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,330px),1fr));gap:14px 34px;margin-top:16px}
.glossary dt{font-weight:650;font-size:14.5px}.glossary dd{color:var(--ink2);font-size:14px;line-height:1.45}
footer{margin-top:48px;padding-top:18px;border-top:1px solid var(--line);color:var(--ink3);font-size:13.5px}`;
