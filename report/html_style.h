// The style sheet of the HTML report: light, dark, narrow and printed. Every
// colour is a variable; text has a contrast of 4.5 or more to what is behind
// it. No '<' and no '&'. Internal to report/.
#pragma once

namespace penstock {

// What the hatches of .fetch, .prep, .exchange and .away are, so that no
// colour is the only sign of a part.
inline constexpr const char* kHtmlStyle = R"css(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --quiet: #57606a; --rule: #d8dee4;
  --box: #f5f7f9; --bad: #a3271b; --good: #1d6b34; --warning: #7a5200;
  --blue: #8fb3d3; --blue-line: #1d5584; --orange: #eda94e;
  --orange-line: #8f4f00; --plum: #c58fb5; --plum-line: #7c2f66;
  --green: #8cc0a0; --green-line: #2b6b45; --grey: #d3d8de;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181c; --ink: #e4e7ea; --quiet: #a3acb5; --rule: #343b43;
    --box: #1e2328; --bad: #ff8d80; --good: #7bd294; --warning: #e6b450;
    --blue: #3f6f99; --blue-line: #a8cdef; --orange: #a8691c;
    --orange-line: #ffc67a; --plum: #84436f; --plum-line: #eab0d8;
    --green: #3b7a56; --green-line: #a5dcb9; --grey: #4a525b;
  }
}
@media print {
  :root {
    color-scheme: light;
    --paper: #ffffff; --ink: #000000; --quiet: #444444; --rule: #cccccc;
    --box: #ffffff; --bad: #a3271b; --good: #1d6b34; --warning: #7a5200;
    --blue: #8fb3d3; --blue-line: #1d5584; --orange: #eda94e;
    --orange-line: #8f4f00; --plum: #c58fb5; --plum-line: #7c2f66;
    --green: #8cc0a0; --green-line: #2b6b45; --grey: #d3d8de;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 60rem; padding: 1rem 1rem 3rem;
  background: var(--paper); color: var(--ink);
  font: 0.9375rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
}
h1 { font-size: 1.25rem; margin: 0.5rem 0; }
h2 {
  font-size: 1.0625rem; margin: 2.25rem 0 0.5rem; padding-top: 0.75rem;
  border-top: 1px solid var(--rule);
}
p { margin: 0.5rem 0; max-width: 46rem; }
.verdict { font-size: 1.1875rem; font-weight: 600; margin: 0.75rem 0; }
.bad { color: var(--bad); }
.good { color: var(--good); }
.warning { color: var(--warning); }
.notes { border-left: 3px solid var(--warning); padding-left: 0.75rem;
  margin: 0.75rem 0; }
.notes p { margin: 0.25rem 0; }
ul { margin: 0.5rem 0; padding-left: 1.25rem; }
.advice { list-style: none; padding: 0; }
code {
  font: 0.875rem/1.5 ui-monospace, monospace; background: var(--box);
  border: 1px solid var(--rule); padding: 0.25rem 0.5rem;
  display: inline-block; user-select: all;
}
.advice p { margin: 0.25rem 0 1rem; }
table {
  border-collapse: collapse; font-size: 0.8125rem;
  font-variant-numeric: tabular-nums; margin: 0.25rem 0;
}
caption { text-align: left; color: var(--quiet); padding: 0.25rem 0; }
.facts caption { display: none; }
th, td {
  text-align: right; padding: 0.2rem 0 0.2rem 1.25rem; vertical-align: top;
  border-bottom: 1px solid var(--rule); font-weight: 400;
}
th:first-child, td:first-child { text-align: left; padding-left: 0; }
thead th { color: var(--quiet); vertical-align: bottom; }
.facts td { text-align: left; }
.facts th { color: var(--quiet); white-space: nowrap; }
.scroll { overflow-x: auto; margin: 0.5rem 0; }
.scroll table { min-width: 26rem; overflow-wrap: normal; }
.scroll:focus-visible, summary:focus-visible { outline: 2px solid var(--quiet); }
.scroll td, .scroll thead th { white-space: nowrap; }
.words-2 :is(td, th):nth-child(2), .words-4 :is(td, th):nth-child(4) {
  text-align: left; white-space: normal; min-width: 11rem; }
.words-4 td:nth-child(2) { white-space: normal; }
details { margin: 0.25rem 0; font-size: 0.8125rem; }
summary { color: var(--quiet); cursor: pointer; width: fit-content; }
details .scroll { max-height: 24rem; overflow-y: auto; }
figure { margin: 1.25rem 0 1rem; }
figcaption { font-weight: 600; }
.key { display: flex; flex-wrap: wrap; gap: 0.125rem 1.25rem; margin: 0.25rem 0;
  font-size: 0.8125rem; max-width: none; }
.swatch { margin-right: 0.375rem; vertical-align: -1px; overflow: visible; }
.patterns { position: absolute; width: 0; height: 0; }
.chart { display: block; width: 100%; overflow: visible;
  padding: 22px 28px 40px 56px; }
.bar { display: block; width: 100%; }
.plot { overflow: visible; }
svg text { font-size: 11px; fill: var(--ink); }
svg .quiet { fill: var(--quiet); }
svg .value, svg .end { text-anchor: end; }
svg .time { text-anchor: middle; }
svg .mark-number { text-anchor: middle; font-weight: 600; font-size: 10px; }
svg .label { font-weight: 600; stroke: var(--paper); stroke-width: 3px;
  paint-order: stroke; }
.grid, .tick { stroke: var(--rule); }
.mark { stroke: var(--quiet); stroke-dasharray: 2 2; }
.told { fill: var(--ink); fill-opacity: 0; }
.told:hover { fill-opacity: 0.12; }
.here { fill: var(--ink); stroke: var(--paper); stroke-width: 2; }
.area { stroke: none; }
.line { fill: none; stroke: var(--ink); stroke-width: 1.5;
  vector-effect: non-scaling-stroke; }
.home, .compute { fill: var(--blue); }
.trainer, .unattributed, .band { fill: var(--grey); }
.away { fill: url(#hatch-away); }
.fetch { fill: url(#hatch-fetch); }
.prep { fill: url(#hatch-prep); }
.exchange { fill: url(#hatch-exchange); }
.orange { fill: var(--orange); } .orange-line { stroke: var(--orange-line); }
.plum { fill: var(--plum); } .plum-line { stroke: var(--plum-line); }
.green { fill: var(--green); } .green-line { stroke: var(--green-line); }
.measured { stroke: var(--blue-line); }
.predicted { stroke: var(--orange-line); stroke-dasharray: 7 4; }
.beyond { stroke-dasharray: 2 4; }
.enough { stroke: var(--green-line); stroke-width: 1; stroke-dasharray: 4 3; }
.level { stroke: var(--quiet); stroke-width: 1; stroke-dasharray: 2 3; }
.low { stroke-dasharray: 9 3 2 3; }
footer { margin-top: 2.5rem; color: var(--quiet); font-size: 0.8125rem; }
@media (max-width: 40rem) {
  body { padding: 0.75rem 0.75rem 2rem; }
  th, td { padding-left: 0.75rem; }
  .between { display: none; }
}
@media print {
  @page { margin: 15mm; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, tr, .advice li { break-inside: avoid; }
  h2, figcaption { break-after: avoid; }
  details, .told { display: none; }
  .scroll { overflow: visible; }
  .scroll table { min-width: 0; overflow-wrap: anywhere; }
  .scroll td, .scroll thead th { white-space: normal; padding-left: 0.6rem; }
  .scroll thead th:first-child { padding-left: 0; }
  .words-4 :is(td, thead th):not(:nth-child(4)) { overflow-wrap: normal; }
}
)css";

}  // namespace penstock
