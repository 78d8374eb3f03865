#include "page.h"

namespace dragoman::report {

const std::string_view kStyle = R"css(
:root { --back: #ffffff; --panel: #f6f7f9; --text: #1b1f24; --dim: #5c6670; --line: #d5dae0; --grid: #e6e9ed;
  --heat: 8, 72, 140; --c0: #0066b4; --c1: #c4500a; --c2: #00785a; --c3: #a3387e; --c4: #8a6d00; --c5: #5b4bb5; --c6: #b01e2e; --c7: #4a5560; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { --back: #14171a; --panel: #1d2126; --text: #e4e8ec; --dim: #9aa5b0; --line: #39414a;
  --grid: #2a3037; --heat: 110, 180, 245; --c0: #5db0f2; --c1: #f5954f; --c2: #3ecfa3; --c3: #e58cc4; --c4: #e0c040; --c5: #a99cf5; --c6: #ff7a84; --c7: #b0bac4; } }
:root[data-theme=dark] { --back: #14171a; --panel: #1d2126; --text: #e4e8ec; --dim: #9aa5b0; --line: #39414a;
  --grid: #2a3037; --heat: 110, 180, 245; --c0: #5db0f2; --c1: #f5954f; --c2: #3ecfa3; --c3: #e58cc4; --c4: #e0c040; --c5: #a99cf5; --c6: #ff7a84; --c7: #b0bac4; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem 1.25rem 3rem; max-width: 1500px; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; } h2 { font-size: 1.12rem; margin: 2rem 0 .6rem; } h3 { font-size: .95rem; margin: 0 0 .3rem; font-weight: 600; }
.controls { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; align-items: center; padding: .5rem 0;
  background: var(--back); border-bottom: 1px solid var(--line); }
.controls label { white-space: nowrap; color: var(--dim); } .controls input { vertical-align: middle; }
button, select { font: inherit; color: var(--text); background: var(--panel); border: 1px solid var(--line); border-radius: 4px; padding: .15rem .6rem; cursor: pointer; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem .6rem; } .legend button[aria-pressed=false] { opacity: .45; text-decoration: line-through; }
.swatch { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; vertical-align: -1px; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr)); gap: 1rem; }
.panel { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .8rem; min-width: 0; position: relative; }
svg { display: block; max-width: 100%; } svg text { fill: var(--dim); font-size: 11px; font-family: inherit; }
.tip { position: absolute; pointer-events: none; background: var(--back); border: 1px solid var(--line); border-radius: 4px; padding: .25rem .5rem;
  font-size: 12px; white-space: nowrap; z-index: 1; box-shadow: 0 1px 4px rgba(0, 0, 0, .25); max-width: 95%; overflow: hidden; text-overflow: ellipsis; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 14px; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word; min-width: 4rem; max-width: 45rem; }
th { font-weight: 600; white-space: nowrap; } td > span { white-space: nowrap; } .dim { color: var(--dim); font-size: 13px; } .note { color: var(--c1); }
.sample { margin-bottom: 1rem; } .sample td { font-size: 14px; } .sample td:first-child { color: var(--dim); white-space: nowrap; overflow-wrap: normal; }
code { font-size: 13px; overflow-wrap: anywhere; } details { margin: .4rem 0; } summary { cursor: pointer; }
)css";

}  // namespace dragoman::report
