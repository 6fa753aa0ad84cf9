/** What changes on tablets, phones and paper. Paper takes the wide layout, smaller; folded parts stay out of it. */
export const MEDIA = `
@media screen and (max-width:980px){.cards{grid-template-columns:minmax(0,1fr)}.metrics{grid-template-columns:repeat(2,minmax(0,1fr))}.columns,.split{grid-template-columns:minmax(0,1fr)}}
@media screen and (max-width:900px){.tasks{columns:1}.scores th,.scores td{padding-left:14px;padding-right:14px}.scores tbody.all .pair{font-size:15.5px}}
@media screen and (max-width:640px){
.wrap{padding:0 16px 48px}.top{padding:22px 0 16px}h1{font-size:30px}.lede{font-size:17.5px}.facts{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:10px 16px}.facts .both{grid-column:1/-1}
.toc{margin-left:-16px;margin-right:-16px;padding-left:16px;padding-right:16px}
.part{margin-top:40px}.part>h2{font-size:21px}.hero .figure{font-size:38px}.card{padding:15px 16px}.cards,.smalls,.metrics{gap:12px}.figure{font-size:22px}
.grid-tasks{grid-template-columns:repeat(var(--phone),minmax(0,1fr))}.metrics{grid-template-columns:minmax(0,1fr)}.folded{padding:2px 13px 14px}.fold>summary{padding:11px 13px}.fold>summary .nums{margin-left:0}
.tasks li{grid-template-columns:minmax(0,1fr) 32% 4.2em;gap:12px}
.stack,.stack tbody,.stack tr,.stack td,.stack th{display:block;width:auto!important}.stack thead{display:none}
.stack tr{padding:10px 0;border-top:1px solid var(--line)}.stack tbody:first-of-type tr:first-child{border-top:0}
.stack th,.stack td{border:0!important;padding:3px 16px!important}
.stack td::before{content:attr(data-label);float:left;color:var(--ink3);font-size:13.5px;min-width:5.4em}
.stack .group{padding:0}.stack .group th{padding:5px 16px!important}
.scores td{display:grid!important;grid-template-columns:4.6em minmax(0,auto) minmax(60px,1fr);gap:0 10px;align-items:center}.stack.scores td::before{min-width:0}.scores .pair{flex-wrap:nowrap;white-space:nowrap;min-width:8.6em}.scores .pair small{display:none}.scores tbody.all .pair{font-size:15.5px}.scores .track{margin-top:0}.cover th,.cover td{padding:8px 0 8px 7px;font-size:12.5px;overflow-wrap:normal}.cover th:first-child{padding-left:14px}.cover thead th{font-size:10.5px}.cover .wide,.cover .took,.cover thead th:last-child{display:none}.cover th:nth-child(6),.cover td:nth-child(6){padding-right:12px}.tasks .file{display:none}.band .name{font-size:10px!important}.plain th,.plain td{padding-right:12px}.plain th[scope=row]{min-width:7.5em}
.state th,.state td{padding-right:6px}.turn{max-width:98%}.passes .axis text{font-size:11px!important}
.chart.fluid text{font-size:11px}.mini div{flex-wrap:wrap;gap:0 12px}.mini dd{text-align:left}
}
@media screen and (max-width:360px){.smalls{grid-template-columns:minmax(0,1fr)}}
@media print{
@page{margin:12mm}
:root{--bg:#fff;--shadow:none}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.wrap{max-width:none;padding:0;zoom:.66}.toc,.skip{display:none}.top{padding-top:0}.scroll,.commands{overflow:visible}
.part{margin-top:38px}.card,.panel,.turn,.verdict,.scores tr,.banner,.glossary div{break-inside:avoid}.part>h2,.intro,h4,h5,.state caption{break-after:avoid}
.turn .text{max-height:none}.fold:not([open]){display:none}
}`;
