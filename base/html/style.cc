#include "base/html/style.h"

namespace mlc::html {
namespace {

constexpr std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --ink: #1c2330; --dim: #5b6474; --line: #d9dde4;
  --grid: #e7eaef; --code: #eef0f4; --link: #0b5cad;
  --c0: #1f6fc4; --c1: #d1660a; --c2: #1c8a5b; --c3: #8b4bc1; --c4: #b3213f; --c5: #0e8a9c;
  --c6: #8a6d1b; --c7: #6b7280;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12151b; --card: #1a1f27; --ink: #e4e8ee; --dim: #a0a9b8; --line: #333b47;
    --grid: #29303b; --code: #232933; --link: #7db7f2;
    --c0: #64a8f0; --c1: #f39a4d; --c2: #4fc08d; --c3: #bd8cf0; --c4: #ff7b8f; --c5: #45c3d6;
    --c6: #d5b54f; --c7: #98a2b3;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 16px; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 8px 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 0 0 8px; }
h3 { font-size: 1rem; margin: 16px 0 4px; }
p { margin: 6px 0; max-width: 75ch; overflow-wrap: anywhere; }
a { color: var(--link); }
section, .facts { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px; margin: 14px 0; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 10px; }
.facts div { min-width: 0; }
.facts b { display: block; font-size: 1.35rem; line-height: 1.2; overflow-wrap: anywhere; }
.facts span, .dim, figcaption span { color: var(--dim); font-size: 0.87rem; }
.grid { display: grid; gap: 14px; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr)); }
figure { margin: 8px 0; min-width: 0; max-width: 470px; }
figcaption { font-weight: 600; font-size: 0.93rem; }
figcaption span { display: block; font-weight: 400; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11.5px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  fill: var(--dim); }
svg .label { fill: var(--ink); }
svg .grid-line { stroke: var(--grid); stroke-width: 1; fill: none; }
svg .axis { stroke: var(--dim); stroke-width: 1; fill: none; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.dashed { fill: none; stroke-width: 1.5; stroke-dasharray: 5 4; }
.dots { fill: none; stroke-width: 4.2; stroke-linecap: round; stroke-opacity: 0.6; }
.big { fill: none; stroke-width: 9; stroke-linecap: round; }
.crosses { fill: none; stroke-width: 1.6; }
.bar { stroke: none; }
.edge { stroke: var(--card); stroke-width: 1; }
)css"
                                    R"css(
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); }
.c3 { stroke: var(--c3); } .c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); }
.c6 { stroke: var(--c6); } .c7 { stroke: var(--c7); }
.f0 { fill: var(--c0); } .f1 { fill: var(--c1); } .f2 { fill: var(--c2); }
.f3 { fill: var(--c3); } .f4 { fill: var(--c4); } .f5 { fill: var(--c5); }
.f6 { fill: var(--c6); } .f7 { fill: var(--c7); }
.legend { list-style: none; margin: 2px 0 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: 2px 14px; font-size: 0.85rem; color: var(--dim); }
.legend li { display: flex; align-items: center; gap: 5px; }
.legend svg { width: 20px; height: 12px; flex: none; }
.legend .dots { stroke-opacity: 1; stroke-width: 7; }
.scroll { overflow-x: auto; margin: 8px 0; }
table { border-collapse: collapse; font-size: 0.88rem; }
caption { text-align: left; font-weight: 600; padding: 4px 0; }
th, td { padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { text-align: left; color: var(--dim); font-weight: 600; vertical-align: bottom; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
td.text { overflow-wrap: break-word; max-width: 46ch; }
td.text:first-child { min-width: 19ch; }
td.text:last-child:not(:first-child) { min-width: 24ch; }
td.text:last-child:empty { min-width: 0; }
details { border-top: 1px solid var(--line); padding: 6px 0; }
details details { border-top: none; }
summary { cursor: pointer; padding: 4px 0; overflow-wrap: anywhere; }
summary b { font-variant-numeric: tabular-nums; }
code, pre { font: 0.85rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
  background: var(--code); border-radius: 5px; }
code { padding: 1px 4px; overflow-wrap: anywhere; }
pre { padding: 8px 10px; margin: 6px 0; white-space: pre-wrap; overflow-wrap: anywhere; }
@media print {
  body { background: none; } section, .facts { break-inside: avoid; border: none; padding: 0; }
}
)css";

}  // namespace

std::string_view PageStyle() { return kStyle; }

}  // namespace mlc::html
