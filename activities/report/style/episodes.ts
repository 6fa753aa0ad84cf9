/** Conversations, verdicts and state tables. */
export const EPISODES = `
.tag{font-size:12px;font-weight:600;border-radius:5px;padding:1px 8px;background:var(--sunken);color:var(--ink2);white-space:nowrap;overflow-wrap:normal}
.tag.gained,.tag.solved{background:var(--accent-soft);color:var(--accent)}
.tag.lost,.tag.unsolved,.tag.changed,.tag.missing,.tag.extra{background:var(--loss-soft);color:var(--loss)}
.fold .tid{font:600 13.5px var(--mono)}.fold>summary .nums{font-weight:400;font-size:13.5px;color:var(--ink3);margin-left:auto}.fold>summary .nums b{color:var(--ink)}
.episode+.episode{border-top:1px solid var(--line);margin-top:24px;padding-top:20px}
.episode h4{font-size:15px;margin-bottom:12px}
.columns{display:grid;grid-template-columns:minmax(0,1.15fr) minmax(0,1fr);gap:28px;align-items:start}
.chat{display:flex;flex-direction:column;gap:9px;font-size:14px;line-height:1.5}
.turn{max-width:94%;padding:8px 13px 9px;border-radius:12px;background:var(--sunken);min-width:0}
.turn .who{display:block;font-size:11.5px;font-weight:600;color:var(--ink3);margin-bottom:1px}
.turn .text{white-space:pre-wrap;max-height:420px;overflow:auto}.turn .mono{font:12.5px/1.5 var(--mono)}
.turn.user{align-self:flex-start;border-bottom-left-radius:3px}
.turn.assistant{align-self:flex-end;background:var(--accent-soft);border-bottom-right-radius:3px}.turn.assistant .who{color:var(--accent)}
.turn.tool{align-self:flex-start;background:none;border:1px solid var(--line);border-left:3px solid var(--line2);border-radius:3px 10px 10px 3px}
.turn.tool.error{border-left-color:var(--loss)}.turn.tool.error .who{color:var(--loss)}
.turn.system{align-self:stretch;max-width:100%;background:none;border:1px dashed var(--line2);color:var(--ink3);font-size:13px}
.call{font:12.5px/1.5 var(--mono);background:var(--surface);border-radius:7px;padding:4px 9px;margin-top:5px}
.call .fn{font-weight:700}.call .paren,.call .arg{color:var(--ink3)}.call .val{color:var(--accent)}
.reasoning{font-size:13px;color:var(--ink2)}.reasoning summary{cursor:pointer;color:var(--ink3)}
.cut,.none{color:var(--ink3);font-style:italic}
.side{min-width:0}.side h5{font-size:13px;color:var(--ink3);font-weight:600;margin:18px 0 6px}
.verdict{border-radius:10px;padding:10px 14px;font-size:14px;background:var(--accent-soft)}.verdict.failed{background:var(--loss-soft)}
.verdict.passed b{color:var(--accent)}.verdict.failed>p b{color:var(--loss)}
.verdict ul{margin-top:6px}.verdict li{padding-left:14px;position:relative;line-height:1.45}.verdict li::before{content:"–";position:absolute;left:0;color:var(--ink3)}
.statesum{font-size:14px;margin-bottom:8px}.statesum.bad b{color:var(--loss)}.statesum.good b{color:var(--accent)}
.state{font-size:13px;margin-bottom:12px;table-layout:fixed}.state caption{text-align:left;font:600 13px var(--mono);padding:3px 0}.state caption small{font-family:var(--sans);font-weight:400;color:var(--ink3);margin-left:6px}
.state th,.state td{padding:3px 10px 3px 0;vertical-align:top;border-bottom:1px solid var(--line)}
.state thead th{padding-bottom:2px}.state tbody th{font-weight:400;color:var(--ink3);width:26%}.state td{width:37%;font-family:var(--mono);font-size:12.5px}
.state .rowhead th{color:var(--ink);font:600 13px var(--mono);padding-top:8px;width:auto}.state .rowhead .tag{font-family:var(--sans);margin-left:6px}
.state .equal td{color:var(--ink3)}.state .differs th{color:var(--loss);font-weight:600}
.state .differs td{background:var(--loss-soft);color:var(--ink);font-weight:600;padding-left:7px;box-shadow:inset 2px 0 var(--loss)}
.state .differs td+td{box-shadow:inset 2px 0 var(--loss)}
.state .same td{color:var(--ink3)}.state .same .tag{font-family:var(--sans);margin-right:6px}
.side .mini{margin-top:14px;font-size:12.5px}`;
