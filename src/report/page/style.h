// The page's style. Colours have a contrast of 4.5 for text and 3 for lines, light and dark.
#pragma once

#include "report/page/html.h"

namespace cnntrain::report {

inline constexpr Literal kStyle = R"(
:root { color-scheme: light dark; --back: #ffffff; --card: #f5f7f9; --text: #1b1f24; --soft: #525a64;
  --rule: #d3d9df; --heat: 11 98 196; --c0: #0b62c4; --c1: #a8480b; --c2: #1a7431; --c3: #7a3fd1; --c4: #b02a76;
  --c5: #57606a; --good: #1a7431; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --back: #0f141a; --card: #182028; --text: #e6edf3; --soft: #a4afbb; --rule: #37424d; --heat: 88 166 255;
    --c0: #58a6ff; --c1: #f0883e; --c2: #56d364; --c3: #bc8cff; --c4: #ff7bbf; --c5: #adbac7; --good: #56d364;
    --bad: #ff8a80; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 1320px; padding: 16px 20px 48px; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; overflow-wrap: break-word; }
p, li, td, pre, figcaption { overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 2px; }
h2 { font-size: 1.15rem; margin: 28px 0 10px; padding-top: 10px; border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 16px 0 6px; }
p { margin: 0 0 6px; }
.soft, figcaption .soft { color: var(--soft); }
.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 370px), 1fr)); gap: 12px;
  margin-top: 14px; }
.answers section { background: var(--card); border: 1px solid var(--rule); border-left: 4px solid var(--c0);
  border-radius: 6px; padding: 10px 14px; min-width: 0; }
.answers section.good { border-left-color: var(--good); }
.answers section.bad { border-left-color: var(--bad); }
.answers section.long { grid-column: 1 / -1; }
.answers h2 { border: 0; margin: 0 0 4px; padding: 0; font-size: 1.05rem; }
.answers p { font-size: .92rem; margin-bottom: 4px; }
.answers p:first-of-type { font-weight: 600; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 390px), 1fr)); gap: 16px; }
.grid.small { grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); }
.small figcaption, .small p { font-size: .8rem; line-height: 1.3; margin: 0; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: 4px; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
.grid { min-width: 0; }
line.rule { stroke: var(--rule); }
line.axis { stroke: var(--soft); }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.dashed { stroke-dasharray: 5 3; stroke-width: 1.4; }
.raw { opacity: .3; }
.line.c0 { stroke: var(--c0); } .line.c1 { stroke: var(--c1); } .line.c2 { stroke: var(--c2); }
.line.c3 { stroke: var(--c3); } .line.c4 { stroke: var(--c4); } .line.c5 { stroke: var(--c5); }
.dot.c0, .fill.c0 { fill: var(--c0); } .dot.c1, .fill.c1 { fill: var(--c1); } .dot.c2, .fill.c2 { fill: var(--c2); }
.dot.c3, .fill.c3 { fill: var(--c3); } .dot.c4, .fill.c4 { fill: var(--c4); } .dot.c5, .fill.c5 { fill: var(--c5); }
.track { fill: var(--rule); }
.cursor { stroke: var(--text); stroke-width: 1; }
.readout { min-height: 1.4em; font-size: .85rem; margin: 2px 0 0; font-variant-numeric: tabular-nums; }
.legend { list-style: none; margin: 2px 0 0; padding: 0; font-size: .85rem; display: flex; flex-wrap: wrap;
  gap: 0 14px; }
.key { display: inline-block; width: 22px; height: 8px; margin-right: 6px; vertical-align: middle; }
.smooth { margin: 0 0 10px; }
.smooth input { vertical-align: middle; width: 180px; max-width: 60vw; accent-color: var(--c0); }
[hidden] { display: none; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 10px 3px 0; vertical-align: top; border-bottom: 1px solid var(--rule); }
thead th { border-bottom: 2px solid var(--rule); }
th { font-weight: 600; }
td.number, th.number { text-align: right; }
td.number { white-space: nowrap; }
.parts table { width: 100%; max-width: 640px; }
.parts td { white-space: nowrap; } .parts td.bar { width: 34%; vertical-align: middle; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 0 20px; }
.pair > div { min-width: 0; }
.parts td.bar svg { height: 12px; }
.scroll { overflow: auto; max-height: 560px; border: 1px solid var(--rule); border-radius: 6px; padding: 6px 10px; }
.scroll table { font-size: .84rem; }
.scroll td, .scroll th { overflow-wrap: break-word; max-width: 480px; }
.flag, th code { white-space: nowrap; }
.scroll.wide-rows { max-height: none; }
:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; }
.matrix td, .matrix th { border: 1px solid var(--rule); padding: 2px 5px; text-align: center; min-width: 30px; }
.matrix thead th { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; max-height: 150px;
  padding: 5px 2px; vertical-align: bottom; }
.matrix thead th:first-child { writing-mode: horizontal-tb; transform: none; }
.matrix tbody th { text-align: right; white-space: nowrap; max-width: 190px; overflow: hidden;
  text-overflow: ellipsis; }
.matrix td { background: rgb(var(--heat) / calc(var(--v, 0) * .5)); }
.matrix td.right { outline: 1px solid var(--soft); outline-offset: -1px; }
.photos { display: grid; grid-template-columns: repeat(auto-fill, minmax(132px, 1fr)); gap: 12px; }
.photos img { width: 100%; aspect-ratio: 1; object-fit: contain; background: var(--card); image-rendering: auto;
  border: 1px solid var(--rule); border-radius: 4px; }
.photos img.tiny { image-rendering: pixelated; }
.photos figcaption { font-weight: 400; font-size: .8rem; line-height: 1.3; }
.photos .file { display: block; color: var(--soft); }
.texts li, .words li { margin-bottom: 10px; }
.words mark { background: none; color: inherit; font-weight: 600; border-bottom: 2px solid var(--bad); }
.words mark.right { border-bottom-color: var(--good); }
.words .guess { color: var(--soft); font-size: .88em; }
.ticks td { min-width: 34px; padding: 2px 4px; text-align: center; border: 1px solid var(--rule); white-space: nowrap; }
.ticks td.forward { background: rgb(var(--heat) / .15); }
.ticks td.backward { background: rgb(var(--heat) / .35); }
.ticks td.both { background: rgb(var(--heat) / .5); }
pre { background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: 8px 10px; margin: 0 0 8px;
  white-space: pre-wrap; font: 13px/1.4 ui-monospace, monospace; }
code { font: .92em ui-monospace, monospace; }
footer { margin-top: 32px; font-size: .85rem; color: var(--soft); border-top: 1px solid var(--rule);
  padding-top: 8px; }
@media (max-width: 480px) { body { padding: 12px 12px 32px; } h1 { font-size: 1.25rem; } th, td { padding-right: 7px; }
  .photos { grid-template-columns: repeat(auto-fill, minmax(104px, 1fr)); gap: 8px; } }
@media print { :root { --back: #ffffff; --card: #f5f7f9; --text: #1b1f24; --soft: #525a64; --rule: #d3d9df;
    --heat: 11 98 196; --c0: #0b62c4; --c1: #a8480b; --c2: #1a7431; --c3: #7a3fd1; --c4: #b02a76; --c5: #57606a;
    --good: #1a7431; --bad: #b3261e; color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 11px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .smooth, .readout { display: none; } .scroll { overflow: visible; max-height: none; border: 0; padding: 0; }
  figure, .answers section, .matrix, tr { break-inside: avoid; }
  h2, h3, p.soft { break-after: avoid; }
  .scroll td, .scroll th { max-width: none; overflow-wrap: anywhere; } th code { white-space: normal; }
  .grid { grid-template-columns: repeat(2, 1fr); } .grid.small { grid-template-columns: repeat(6, 1fr); }
  .photos { grid-template-columns: repeat(6, 1fr); } }
)";

}  // namespace cnntrain::report
