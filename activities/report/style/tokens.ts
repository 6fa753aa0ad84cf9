/**
 * Colours and type as CSS variables, light and dark. Hues are from a colour-blind safe set (blue against orange, never
 * red against green); every text colour has a contrast of at least 4.5 on its ground.
 */
const LIGHT = `
--bg:#f7f7f4;--surface:#ffffff;--sunken:#f0f0ec;--ink:#15181e;--ink2:#444b59;--ink3:#5f6775;--line:#e0e1dc;--line2:#c6c9c9;
--accent:#0a5cab;--accent-soft:#dcebf9;--before:#7b828e;--gain:#0a5cab;--loss:#b6430a;--loss-soft:#fcebdf;
--g0:#e9e9e5;--g1:#cfe0f0;--g2:#a9cbe8;--g3:#79afdb;--g4:#4a8fc9;--g5:#08437f;
--s0:#2b7bba;--s1:#e39a1c;--s2:#14947a;--s3:#c173a4;--s4:#7a8493;
--shadow:0 1px 2px rgb(20 24 30 / .05),0 4px 16px rgb(20 24 30 / .04)`;

const DARK = `
--bg:#0e1116;--surface:#161a21;--sunken:#1d222b;--ink:#eceef1;--ink2:#b6bdc9;--ink3:#8f98a6;--line:#272d37;--line2:#3c4451;
--accent:#6cb4f7;--accent-soft:#17304a;--before:#9aa3b1;--gain:#6cb4f7;--loss:#ff9c63;--loss-soft:#3d2317;
--g0:#252b35;--g1:#1d3a58;--g2:#22507e;--g3:#2b6cab;--g4:#3d8fd8;--g5:#a5d6ff;
--s0:#5aa6e6;--s1:#f0b44b;--s2:#3fc1a3;--s3:#dd9cc5;--s4:#98a3b3;
--shadow:0 0 0 1px rgb(255 255 255 / .03)`;

export const TOKENS = `:root{color-scheme:light dark;${LIGHT};
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","Liberation Sans",Arial,sans-serif;
--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;--r:12px}
@media screen and (prefers-color-scheme:dark){:root{${DARK}}}`;
