#include "page.h"

namespace dragoman::report {

// Text of runs is inserted into the page as text nodes and attributes only, never as markup.
const std::string_view kScript = R"js(
"use strict";
// Objects without a prototype: a metric may have any name, "constructor" among them.
const plain = (key, value) => value && typeof value === "object" && !Array.isArray(value) ? Object.assign(Object.create(null), value) : value;
const data = JSON.parse(document.getElementById("data").textContent, plain);
const runs = data.runs;
const state = { log: false, smooth: 0, hidden: new Set() };
const colour = i => `var(--c${i % 8})`;
const svgSpace = "http://www.w3.org/2000/svg";

function make(tag, attributes, ...children) {
  const element = tag.startsWith("svg:") ? document.createElementNS(svgSpace, tag.slice(4)) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {}))
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value); else element.setAttribute(key, value);
  for (const child of children) element.append(child);
  return element;
}
const swatch = i => make("span", { class: "swatch", style: `background:${colour(i)}` });

function show(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace("e+", "e").replace(/\.?0+e/, "e");
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

function ticks(low, high, most) {
  const rough = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(x => x * power).find(x => x >= rough * 0.999) || 10 * power;
  const list = [];
  const first = Math.ceil(low / step - 1e-9);
  // A count that ends whatever the numbers are: where they are large, adding a step changes nothing.
  for (let i = 0; i <= 2 * Math.max(1, most) && (first + i) * step <= high + step * 1e-9; ++i) list.push(Number(((first + i) * step).toPrecision(12)));
  return [...new Set(list)];
}

function logTicks(low, high) {
  const list = [];
  const decades = Math.log10(high / low);
  const marks = decades > 4 ? [1] : decades > 1.3 ? [1, 3] : [1, 1.5, 2, 3, 5, 7];
  for (let p = Math.floor(Math.log10(low)); p <= Math.min(309, Math.ceil(Math.log10(high))); ++p)
    for (const m of marks) { const v = m * 10 ** p; if (v >= low * 0.999 && v <= high * 1.001) list.push(v); }
  return list.length >= 2 ? list : ticks(low, high, 4).filter(v => v > 0);
}

// An exponential moving average, without the pull towards its beginning (as Adam's moments are corrected).
function smoothed(points) {
  if (state.smooth === 0) return points;
  let sum = 0, weight = 0;
  return points.map(([x, y]) => {
    sum = state.smooth * sum + (1 - state.smooth) * y;
    weight = state.smooth * weight + (1 - state.smooth);
    return [x, sum / weight];
  });
}

function drawChart(panel, title, lines) {
  panel.replaceChildren(make("h3", {}, title));
  const shown = lines.filter(l => !state.hidden.has(l.run) && l.points.length);
  if (!shown.length) { panel.append(make("p", { class: "dim" }, "nothing to show")); return; }
  const width = Math.max(240, panel.clientWidth - 26), height = 250;
  const box = { left: 58, right: 14, top: 8, bottom: 38 };
  const curves = shown.map(l => ({ ...l, drawn: l.dots ? l.points : smoothed(l.points) }));
  const all = curves.flatMap(l => l.drawn);
  const positive = all.every(p => p[1] > 0);
  const log = state.log && positive;
  let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
  for (const [x, y] of all) { x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y); }
  if (x0 === x1) { x0 -= 1; x1 += 1; }
  if (log) { if (y1 / y0 < 1.02) { y0 /= 1.1; y1 *= 1.1; } else { const f = (y1 / y0) ** 0.04; y0 /= f; y1 *= f; } }
  else { const pad = (y1 - y0 || Math.abs(y1) || 1) * 0.05; if (positive && y0 - pad < 0) y0 = 0; else y0 -= pad; y1 += pad; }
  const px = x => box.left + (x - x0) / (x1 - x0) * (width - box.left - box.right);
  const share = y => log ? Math.log(y / y0) / Math.log(y1 / y0) : (y - y0) / (y1 - y0);
  const py = y => height - box.bottom - share(y) * (height - box.top - box.bottom);
  const svg = make("svg:svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  for (const y of log ? logTicks(y0, y1) : ticks(y0, y1, 7)) {
    svg.append(make("svg:line", { x1: box.left, x2: width - box.right, y1: py(y), y2: py(y), stroke: "var(--grid)" }),
      make("svg:text", { x: box.left - 6, y: py(y) + 4, "text-anchor": "end" }, show(y)));
  }
  for (const x of ticks(x0, x1, Math.floor(width / 90)).filter(x => Number.isInteger(x)))
    svg.append(make("svg:line", { x1: px(x), x2: px(x), y1: height - box.bottom, y2: height - box.bottom + 4, stroke: "var(--line)" }),
      make("svg:text", { x: Math.min(px(x), width - 18), y: height - box.bottom + 17, "text-anchor": "middle" }, x >= 1e6 ? show(x) : x.toLocaleString("en")));
  svg.append(make("svg:text", { x: width - box.right, y: height - 4, "text-anchor": "end" }, "update"),
    make("svg:line", { x1: box.left, x2: width - box.right, y1: height - box.bottom, y2: height - box.bottom, stroke: "var(--line)" }));
  for (const run of new Set(shown.map(l => l.run)))
    for (const mark of runs[run].marks) {
      if (mark.update < x0 || mark.update > x1) continue;
      const line = make("svg:line", { x1: px(mark.update), x2: px(mark.update), y1: box.top, y2: height - box.bottom, stroke: colour(run),
        "stroke-dasharray": mark.fork ? "6 3" : "1 4", "stroke-width": mark.fork ? 1.5 : 1 });
      line.append(make("svg:title", {}, `${mark.fork ? "forked" : "resumed"} after update ${mark.update}` + (mark.fork ? ": " + mark.fork : "")));
      svg.append(line);
    }
  for (const l of curves) {
    const path = points => points.map(([x, y], i) => `${i ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");
    if (state.smooth > 0 && !l.dots) {
      const raw = l.points.filter(p => p[1] >= y0 && p[1] <= y1);
      svg.append(make("svg:path", { d: path(raw), fill: "none", stroke: colour(l.run), "stroke-width": 1, opacity: 0.25 }));
    }
    svg.append(make("svg:path", { d: path(l.drawn), fill: "none", stroke: colour(l.run), "stroke-width": l.dots ? 1.4 : 1.7,
      "stroke-dasharray": l.dots ? "5 3" : l.trained ? "1 3" : "none", "stroke-linejoin": "round" }));
    if (l.dots || l.drawn.length === 1)
      for (const [x, y] of l.drawn)
        svg.append(make("svg:circle", { cx: px(x), cy: py(y), r: (l.best || []).includes(x) ? 4 : 2.6, fill: colour(l.run) }));
  }
  const cursor = make("svg:line", { y1: box.top, y2: height - box.bottom, stroke: "var(--dim)", visibility: "hidden" });
  svg.append(cursor);
  const tip = make("div", { class: "tip", hidden: "" });
  svg.addEventListener("pointermove", event => {
    const at = (event.clientX - svg.getBoundingClientRect().left) * width / svg.getBoundingClientRect().width;
    const x = x0 + (at - box.left) / (width - box.left - box.right) * (x1 - x0);
    const rows = curves.map(l => [l, l.drawn.reduce((a, b) => Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a)]);
    cursor.setAttribute("x1", px(rows[0][1][0])); cursor.setAttribute("x2", px(rows[0][1][0])); cursor.setAttribute("visibility", "visible");
    tip.replaceChildren(...rows.map(([l, p]) => make("div", {}, swatch(l.run), `${l.label}: ${show(p[1])} at ${p[0].toLocaleString("en")}`)));
    tip.hidden = false;
    tip.style.top = "2.2rem";
    if (at > width / 2) { tip.style.left = "auto"; tip.style.right = `${width - at + 24}px`; } else { tip.style.right = "auto"; tip.style.left = `${at + 24}px`; }
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; cursor.setAttribute("visibility", "hidden"); });
  panel.append(svg, tip);
  const kinds = [];
  if (curves.some(l => l.dots)) kinds.push("dashed, with dots: validation, large dots the best until then");
  if (curves.some(l => l.trained)) kinds.push("dotted: the loss that is trained, with label smoothing");
  if (state.log && !positive) kinds.push("not logarithmic, since some values are not above 0");
  if (kinds.length) panel.append(make("div", { class: "dim" }, kinds.join("; ")));
}

const titles = { loss: "Loss", perplexity: "Perplexity", alignment_loss: "Alignment loss", learning_rate: "Learning rate", gradient_norm: "Gradient norm", tokens_per_second: "Target tokens per second" };
const titleOf = key => Object.hasOwn(titles, key) ? titles[key] : key;

function charts() {
  const keys = kind => [...new Set(runs.flatMap(r => Object.keys(r[kind])))];
  const first = ["loss", "perplexity"];
  const order = [...new Set([...first, ...keys("validation"), "learning_rate", "gradient_norm", "tokens_per_second", ...keys("training")])];
  return order.filter(key => key !== "smoothed_loss").map(key => ({ title: titleOf(key), lines: runs.flatMap((r, run) => [
    { run, label: runs.length > 1 ? r.name : "training", points: r.training[key] || [] },
    { run, label: (runs.length > 1 ? r.name + ", " : "") + "label-smoothed", points: key === "loss" && r.training.smoothed_loss || [], trained: true },
    { run, label: (runs.length > 1 ? r.name + ", " : "") + "validation", points: r.validation[key] || [], dots: true, best: r.best }]) }))
    .filter(chart => chart.lines.some(l => l.points.length));
}

function histogram(panel, title, side, part) {
  panel.replaceChildren(make("h3", {}, title));
  const width = Math.max(240, panel.clientWidth - 26), height = 190, box = { left: 58, right: 14, top: 8, bottom: 38 };
  const lists = runs.map((r, run) => ({ run, list: state.hidden.has(run) ? [] : ((r.lengths[part] || {})[side] || []) })).filter(l => l.list.length);
  if (!lists.length) { panel.append(make("p", { class: "dim" }, "nothing to show")); return; }
  const longest = Math.max(...lists.flatMap(l => l.list.map(p => p[0])));
  const size = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find(s => longest / s <= 40) || 2000;
  const count = Math.floor(longest / size) + 1;
  const bars = lists.map(({ run, list }) => {
    const bins = new Array(count).fill(0);
    let all = 0;
    for (const [length, n] of list) { bins[Math.floor(length / size)] += n; all += n; }
    return { run, bins: bins.map(n => n / all), all, mean: list.reduce((sum, [length, n]) => sum + length * n, 0) / all };
  });
  const top = Math.max(...bars.flatMap(b => b.bins));
  const px = x => box.left + x / (count * size) * (width - box.left - box.right);
  const py = y => height - box.bottom - y / top * (height - box.top - box.bottom);
  const svg = make("svg:svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  for (const y of ticks(0, 100 * top, 4))
    svg.append(make("svg:line", { x1: box.left, x2: width - box.right, y1: py(y / 100), y2: py(y / 100), stroke: "var(--grid)" }),
      make("svg:text", { x: box.left - 6, y: py(y / 100) + 4, "text-anchor": "end" }, show(y) + " %"));
  for (const x of ticks(0, count * size, Math.floor(width / 80)))
    svg.append(make("svg:text", { x: Math.min(px(x), width - 12), y: height - box.bottom + 17, "text-anchor": "middle" }, show(x)));
  svg.append(make("svg:text", { x: width - box.right, y: height - 4, "text-anchor": "end" }, "pieces"));
  for (const { run, bins, all } of bars) {
    let d = `M${px(0)} ${py(0)}`;
    bins.forEach((share, i) => { d += `L${px(i * size).toFixed(1)} ${py(share).toFixed(1)}L${px((i + 1) * size).toFixed(1)} ${py(share).toFixed(1)}`; });
    svg.append(make("svg:path", { d: d + `L${px(count * size)} ${py(0)}Z`, fill: colour(run), "fill-opacity": bars.length > 1 ? 0 : 0.22, stroke: colour(run), "stroke-width": 1.3 }));
    bins.forEach((share, i) => {
      if (bars.length > 1) return;
      const bar = make("svg:rect", { x: px(i * size), y: box.top, width: px(size) - px(0), height: height - box.top - box.bottom, fill: "transparent" });
      bar.append(make("svg:title", {}, `${i * size}${size > 1 ? " to " + ((i + 1) * size - 1) : ""} pieces: ${Math.round(share * all).toLocaleString("en")} sentences, ${show(100 * share)} %`));
      svg.append(bar);
    });
  }
  panel.append(svg, make("div", { class: "dim" }, bars.map(b => (bars.length > 1 ? runs[b.run].name + ": " : "") + `mean ${show(b.mean)}, ${b.all.toLocaleString("en")} sentences`).join("; ")));
}

function heat(attention, layer, head) {
  const cell = 20, letter = 7.2, weights = attention.weights[layer][head];
  const longest = list => Math.max(1, ...list.map(s => [...s].length));
  const left = letter * longest(attention.queries) + 12, top = letter * longest(attention.keys) + 10;
  const width = left + cell * attention.keys.length + 4, height = top + cell * attention.queries.length + 4;
  const svg = make("svg:svg", { width, height, viewBox: `0 0 ${width} ${height}`, style: "max-width:none", role: "img", "aria-label": "attention" });
  attention.keys.forEach((key, j) => svg.append(make("svg:text", { transform: `translate(${left + j * cell + 14},${top - 5}) rotate(-90)` }, key)));
  attention.queries.forEach((query, i) => {
    svg.append(make("svg:text", { x: left - 6, y: top + i * cell + 14, "text-anchor": "end" }, query));
    attention.keys.forEach((key, j) => {
      const weight = weights[i][j] || 0;
      const square = make("svg:rect", { x: left + j * cell, y: top + i * cell, width: cell, height: cell, fill: `rgba(var(--heat), ${weight.toFixed(3)})`, stroke: "var(--grid)" });
      square.append(make("svg:title", {}, `${query} \u2192 ${key}: ${weight.toFixed(4)}`));
      svg.append(square);
    });
  });
  return make("div", { class: "scroll" }, svg);
}

function table(head, rows) {
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...head.map(h => make("th", {}, h)))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(c => make("td", {}, c)))))));
}

function overview() {
  const duration = s => s >= 3600 ? `${Math.floor(s / 3600)} h ${Math.round(s % 3600 / 60)} min` : s >= 60 ? `${Math.floor(s / 60)} min ${Math.round(s % 60)} s` : `${show(s)} s`;
  const rows = runs.map((r, i) => [make("span", {}, swatch(i), r.name), r.finished ? "finished" : "not finished: it is going on, or was interrupted",
    r.update.toLocaleString("en") + (r.updates ? " of " + r.updates.toLocaleString("en") : ""), duration(r.seconds), r.best.length ? "update " + r.best[r.best.length - 1].toLocaleString("en") : "no validation",
    r.marks.map(m => `${m.fork ? "forked" : "resumed"} after ${m.update.toLocaleString("en")}`).join(", ") || "none"]);
  return table(["run", "state", "updates", "training time", "best", "forks and resumes"], rows);
}

const figure = value => Math.abs(value) >= 1 && Math.abs(value) < 1e4 ? value.toFixed(2) : show(value);

function scores() {
  const rows = [];
  runs.forEach((r, i) => Object.entries(r.validation).forEach(([key, points]) => {
    if (!points.length) return;
    const best = r.best.length ? points.find(p => p[0] === r.best[r.best.length - 1]) : null;
    rows.push([make("span", {}, swatch(i), r.name), titleOf(key), best ? figure(best[1]) : "", figure(points[points.length - 1][1]), make("code", {}, r.signatures[key] || "")]);
  }));
  return rows.length ? table(["run", "metric", "best model", "last validation", "signature"], rows) : make("p", { class: "dim" }, "There was no validation.");
}

function samples(run, r) {
  const parts = [];
  const sources = [...new Set(r.samples.map(s => s.source))];
  for (const source of sources) {
    const of = r.samples.filter(s => s.source === source);
    const rows = [["source", source], ["reference", of[0].reference]].concat(of.map(s => ["update " + s.update.toLocaleString("en"), s.prediction]));
    const part = make("div", { class: "panel sample" }, make("div", { class: "scroll" }, make("table", {}, make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(c => make("td", {}, c))))))));
    r.attention.filter(a => a.source === source).forEach(a => {
      const layer = a.weights.length - 1;
      const place = make("div", {}, heat(a, layer, 0));
      const choice = make("select", { onchange: e => place.replaceChildren(heat(a, Number(e.target.value), 0)) },
        ...a.weights.map((_, l) => make("option", Object.assign({ value: l }, l === layer ? { selected: "" } : {}), `decoder layer ${a.layers[l]}`)));
      const full = place;
      part.append(make("details", { open: "" }, make("summary", {}, "attention of the best model's decoder to the source, mean of heads; target to the left, source above"), choice, full));
    });
    parts.push(part);
  }
  return make("div", {}, make("h3", {}, swatch(run), r.name), ...(parts.length ? parts : [make("p", { class: "dim" }, "No samples were recorded: validation.samples: {first: N, random: N} does so.")]));
}

function build() {
  const main = document.getElementById("main");
  main.append(make("h1", {}, runs.length > 1 ? `${runs.length} training runs` : "Training run " + runs[0].name));
  const redraw = [];
  const all = () => redraw.forEach(f => f());
  const legend = make("div", { class: "legend" }, ...runs.map((r, i) => make("button", { "aria-pressed": "true", onclick: e => {
    if (state.hidden.has(i)) state.hidden.delete(i); else state.hidden.add(i);
    e.currentTarget.setAttribute("aria-pressed", String(!state.hidden.has(i))); all(); } }, swatch(i), r.name)));
  const smooth = make("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: 0, oninput: e => { state.smooth = Number(e.target.value); all(); } });
  const log = make("input", { type: "checkbox", onchange: e => { state.log = e.target.checked; all(); } });
  const theme = make("button", { onclick: () => {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark"; } }, "light / dark");
  main.append(make("div", { class: "controls" }, legend, make("label", {}, log, " logarithmic"), make("label", {}, "smoothing ", smooth), theme));
  runs.forEach(r => r.notes.forEach(note => main.append(make("p", { class: "note" }, `${r.name}: ${note}`))));
  main.append(make("h2", {}, "Overview"), overview());
  const grid = make("div", { class: "grid" });
  main.append(make("h2", {}, "Curves"), grid);
  for (const chart of charts()) {
    const panel = make("div", { class: "panel" });
    grid.append(panel);
    redraw.push(() => drawChart(panel, chart.title, chart.lines));
  }
  if (!grid.children.length) grid.append(make("p", { class: "dim" }, "There are no figures yet."));
  main.append(make("h2", {}, "Scores on the validation set"), scores());
  const parts = ["train", "validation"].filter(part => runs.some(r => r.lengths[part]));
  if (parts.length) {
    const lengths = make("div", { class: "grid" });
    main.append(make("h2", {}, "Lengths of the data"), lengths);
    for (const part of parts) for (const side of ["source", "target"]) {
      const panel = make("div", { class: "panel" });
      lengths.append(panel);
      redraw.push(() => histogram(panel, `${part === "train" ? "Training" : "Validation"} data, ${side}`, side, part));
    }
  }
  main.append(make("h2", {}, "Samples over time"), ...runs.map((r, i) => samples(i, r)));
  if (runs.length > 1) main.append(make("h2", {}, "Where configurations differ"), data.differences.length
    ? table(["key", ...runs.map(r => r.name)], data.differences.map(d => [make("code", {}, d.key), ...d.values])) : make("p", { class: "dim" }, "They do not."));
  main.append(make("h2", {}, "Configurations"), ...runs.map((r, i) => make("details", {}, make("summary", {}, swatch(i), r.name),
    table(["key", "value"], r.configuration.map(([key, value]) => [make("code", {}, key), value])))));
  main.append(make("p", { class: "dim" }, "Written by Dragoman " + data.version));
  all();
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; all(); } });
}
build();
)js";

}  // namespace dragoman::report
