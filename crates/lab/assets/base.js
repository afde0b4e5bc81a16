// Draws a Forebay report from the JSON in #forebay-data: no dependencies, no network, no build step.
// Strings from the data reach the page only as text nodes or CSS-free attributes, never as markup.
// First of the files of one script: errors, DOM, numbers, scales, series. The script of a report has base, chart, figure
// and page, that of the page of `forebay studio` base, chart, figure, engine, play and studio.
(() => {
  "use strict";

  // ---- Error count, in <html data-errors> for tests and users ------------------------------------
  const root = document.documentElement;
  let errors = 0;
  const countError = () => { root.dataset.errors = String(++errors); };
  root.dataset.errors = "0";
  addEventListener("error", countError);
  addEventListener("unhandledrejection", countError);
  document.addEventListener("securitypolicyviolation", countError);

  /** Runs one part of the page. A failure is shown in a box and counted; other parts still run. */
  function guard(host, what, work) {
    try {
      return work();
    } catch (error) {
      countError();
      host.replaceChildren(h("p", { class: "error-box" }, `${what} could not be drawn: ${error.message}`));
      return null;
    }
  }

  // ---- DOM helpers ------------------------------------------------------------------------------
  const SVG = "http://www.w3.org/2000/svg";
  function fill(node, attrs, kids) {
    for (const [key, value] of Object.entries(attrs || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") node.addEventListener(key, value);
      else node.setAttribute(key, value);
    }
    node.append(...kids.flat(3).filter((kid) => kid !== null && kid !== undefined));
    return node;
  }
  const h = (tag, attrs, ...kids) => fill(document.createElement(tag), attrs, kids);
  const s = (tag, attrs, ...kids) => fill(document.createElementNS(SVG, tag), attrs, kids);
  const list = (value) => (Array.isArray(value) ? value : []);
  const slug = (id) => String(id).replace(/[^A-Za-z0-9_.-]+/g, "-");
  const paragraphs = (text) => String(text || "").split(/\n\s*\n/).filter((t) => t.trim()).map((t) => h("p", {}, t));

  // ---- Numbers and text -------------------------------------------------------------------------
  const clamp = (v, lo, hi) => Math.max(lo, Math.min(hi, v));
  const round1 = (v) => Math.round(v * 10) / 10;
  const power = (e) => "10" + String(e).replace(/-/, "⁻").replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
  /** Typographic minus sign; thin spaces between thousands for five digits and more. */
  function pretty(text) {
    const [whole, rest] = text.replace("-", "−").split(".");
    const grouped = whole.replace("−", "").length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
    return rest === undefined ? grouped : `${grouped}.${rest}`;
  }
  function format(v, digits = 4) {
    const size = Math.abs(v);
    if (size !== 0 && (size >= 1e9 || size < 1e-4)) {
      const e = Math.floor(Math.log10(size));
      return `${pretty(String(Number((v / 10 ** e).toPrecision(digits))))}×${power(e)}`;
    }
    return pretty(size >= 10 ** digits ? v.toFixed(0) : String(Number(v.toPrecision(digits))));
  }
  const formatRange = ({ y, low, high }) =>
    format(y) + (Number.isFinite(low) && Number.isFinite(high) ? ` (${format(low)} .. ${format(high)})` : "");
  const ruler = document.createElement("canvas").getContext("2d");
  const FONT = getComputedStyle(root).getPropertyValue("--sans").trim() || "sans-serif";
  function textWidth(text, size = 12) {
    ruler.font = `${size}px ${FONT}`;
    return ruler.measureText(text).width;
  }
  function ellipsis(text, width, size = 12) {
    if (textWidth(text, size) <= width) return text;
    let keep = text.length;
    while (keep > 1 && textWidth(text.slice(0, keep) + "…", size) > width) keep -= 1;
    return text.slice(0, keep).trimEnd() + "…";
  }
  const withUnit = (axis, e) => {
    const unit = [e ? power(e) : "", axis.unit || ""].filter(Boolean).join(" ");
    return unit ? `${axis.label || ""} (${unit})`.trim() : axis.label || "";
  };
  const axisTitle = (axis, e) => withUnit(axis, e) + (axis.scale === "log" ? ", logarithmic" : "");

  // ---- Scales and ticks -------------------------------------------------------------------------
  function makeScale(lo, hi, from, to, log) {
    const f = log ? Math.log10 : (v) => v;
    const slope = (to - from) / (f(hi) - f(lo));
    return {
      lo, hi, from, to, log,
      px: (v) => from + (f(v) - f(lo)) * slope,
      at: (p) => { const u = f(lo) + (p - from) / slope; return log ? 10 ** u : u; },
    };
  }
  function niceStep(span, count) {
    const raw = span / Math.max(1, count);
    const base = 10 ** Math.floor(Math.log10(raw));
    return base * [1, 2, 5, 10].find((m, k) => raw / base <= [1.42, 3.17, 7.08, Infinity][k]);
  }
  /** Tick values, their labels, and the power of ten for the axis title. */
  function makeTicks(scale, count) {
    const { lo, hi, log } = scale;
    const decades = log ? Math.log10(hi / lo) : 0;
    if (log && decades >= 1.5) return { e: 0, ticks: logTicks(lo, hi, decades, count) };
    const step = niceStep(hi - lo, count);
    const size = Math.max(Math.abs(lo), Math.abs(hi));
    const e = size >= 1e6 || size < 1e-2 ? 3 * Math.floor(Math.log10(size) / 3) : 0;
    const decimals = clamp(-Math.floor(Math.log10(step) - e + 1e-9), 0, 12);
    const ticks = [];
    for (let k = Math.ceil(lo / step - 1e-6); k * step <= hi + step * 1e-6; k += 1) {
      ticks.push({ at: k * step, label: pretty(((k * step) / 10 ** e + 0).toFixed(decimals)) });
    }
    return { e, ticks };
  }
  /** The most ticks along x whose labels do not touch. */
  function fittingTicks(X, pitch) {
    for (let count = Math.max(1, Math.floor((X.to - X.from) / pitch)); ; count -= 1) {
      const found = makeTicks(X, count);
      const fits = found.ticks.every((t, k, all) => k === 0 ||
        X.px(t.at) - X.px(all[k - 1].at) > (textWidth(t.label) + textWidth(all[k - 1].label)) / 2 + 10);
      if (fits || count <= 1) return found;
    }
  }
  function logTicks(lo, hi, decades, count) {
    const ticks = [];
    const stride = Math.max(1, Math.ceil(decades / Math.max(2, count)));
    const inner = decades < 3 && count >= 2 * decades ? [1, 2, 5] : [1];
    for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e += stride) {
      for (const m of inner) {
        const at = m * 10 ** e;
        if (at < lo * (1 - 1e-9) || at > hi * (1 + 1e-9)) continue;
        ticks.push({ at, label: lo >= 1e-3 && hi <= 1e5 ? format(at) : m === 1 ? power(e) : `${m}×${power(e)}` });
      }
    }
    return ticks;
  }
  /** Lowest and highest value; widened if all are equal or missing. */
  function extent(values, log) {
    let lo = Infinity, hi = -Infinity;
    for (const v of values) {
      if (v === null || v === undefined || (log && v <= 0)) continue;
      if (v < lo) lo = v;
      if (v > hi) hi = v;
    }
    if (lo > hi) return log ? [1, 10] : [0, 1];
    if (lo < hi) return [lo, hi];
    if (log) return [lo / 2, hi * 2];
    const pad = Math.abs(lo) * 0.2 || 0.5;
    return [lo - pad, hi + pad];
  }

  // ---- Series -----------------------------------------------------------------------------------
  const COLOURS = 7;
  const DASHES = ["", "7 2.5", "2.5 2", "10 2.5 2.5 2.5", "5 2 1.5 2 1.5 2", "14 3", "1.5 2.5"];
  const MARKS = [
    "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z", "M-3.3 -3.3H3.3V3.3H-3.3Z", "M0 -4.4L4.2 3.2H-4.2Z",
    "M0 -4.6L4.6 0L0 4.6L-4.6 0Z", "M0 4.4L4.2 -3.2H-4.2Z", "M-1.4 -4.2H1.4V-1.4H4.2V1.4H1.4V4.2H-1.4V1.4H-4.2V-1.4H-1.4Z",
    "M-4.2 -2.2L-2.2 -4.2L0 -2L2.2 -4.2L4.2 -2.2L2 0L4.2 2.2L2.2 4.2L0 2L-2.2 4.2L-4.2 2.2L-2 0Z",
  ];
  const DENSE = 250; // with more points, dashes would look like noise: a few markers name the line
  function readSeries(raw, i, kind) {
    const even = raw.points && Array.isArray(raw.points.y) ? raw.points : null;
    const x = (k) => Number((even.from + k * even.step).toPrecision(9)); // without the noise of a sum
    const points = even ? even.y.map((y, k) => [x(k), y]) : list(raw.points);
    const sound = (p) => Array.isArray(p) && Number.isFinite(p[0]) && (p[1] === null || Number.isFinite(p[1]));
    const wrong = points.findIndex((p) => !sound(p));
    if (wrong >= 0) throw new Error(`series "${raw.name}": point ${wrong} is not a pair of numbers`);
    const uneven = ["low", "high", "bars"].find((key) => raw[key] && raw[key].length !== points.length);
    if (uneven) throw new Error(`series "${raw.name}": "${uneven}" and "points" differ in length`);
    const dense = points.length > DENSE && ["line", "band", "step"].includes(kind);
    const turn = i + Math.floor(i / COLOURS); // a second round of colours meets other dashes
    return {
      name: String(raw.name), guest: raw.partner ?? null, points, low: raw.low, high: raw.high, bars: raw.bars, outline: raw.outline,
      sorted: points.every((p, k) => k === 0 || p[0] >= points[k - 1][0]),
      colour: `c${i % COLOURS}`, mark: MARKS[turn % MARKS.length], order: i, dense,
      dash: dense || kind === "stack" ? "" : DASHES[turn % DASHES.length],
    };
  }
  // Colours of disciplines that are often compared; others take what is free.
  const DISCIPLINES = { droptail: 6, fq_codel: 0, pie: 1, codel: 2, dualpi2: 3, red: 4, pi: 5, raqm: 0, raqm_plus: 1, rem: 3, fq_pie: 5, pi2: 2 };
  /** Gives each discipline the same colour in every figure; a second one with that colour takes a free one. */
  function colourDisciplines(series) {
    const base = (one) => one.name.replace(/ \((kernel|simulated)\)$/, "");
    const taken = new Map(); // colour by name
    const free = () => Array.from({ length: COLOURS }, (_, k) => k).find((k) => ![...taken.values()].includes(k));
    const wanted = (one) => DISCIPLINES[base(one).split(" ")[0]];
    if (!series.some((one) => wanted(one) !== undefined)) return;
    for (const known of [true, false]) {
      for (const one of series.filter((it) => (wanted(it) !== undefined) === known && !taken.has(base(it)))) {
        const own = wanted(one);
        taken.set(base(one), own !== undefined && ![...taken.values()].includes(own) ? own : free() ?? one.order % COLOURS);
      }
    }
    for (const one of series) one.colour = `c${taken.get(base(one))}`;
  }
  /** Index of the last point whose x is at most the given one, or -1. */
  function indexAt(points, x) {
    let lo = 0, hi = points.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (points[mid][0] <= x) lo = mid + 1; else hi = mid;
    }
    return lo - 1;
  }
  /** Value of a series at x: { y, low, high }; null in a gap or outside its data. */
  function valueAt(series, x, kind) {
    const { points, low, high, bars } = series;
    const free = kind === "points" || !series.sorted;
    const k = free ? points.findIndex((p) => Math.abs(p[0] - x) <= 1e-9 * Math.abs(x)) : indexAt(points, x);
    if (k < 0) return kind === "cdf" && points.length ? { y: 0 } : null;
    const [at, y] = points[k], next = points[k + 1];
    if (y === null) return null;
    if (bars && bars[k]) return { y, low: bars[k][2], high: bars[k][3] };
    if (free || at === x || kind === "cdf" || (kind === "step" && next)) return { y, low: low && low[k], high: high && high[k] };
    if (!next || next[1] === null) return null;
    const mix = (a, b) => (Number.isFinite(a) && Number.isFinite(b) ? a + ((x - at) / (next[0] - at)) * (b - a) : null);
    return { y: mix(y, next[1]), low: low && mix(low[k], low[k + 1]), high: high && mix(high[k], high[k + 1]) };
  }
  function linePath(points, X, Y, kind) {
    let path = "", pen = false;
    for (const [x, y] of points) {
      if (X.log && x <= 0) continue;
      const px = round1(X.px(x));
      const gap = y === null || (Y.log && y <= 0);
      const py = gap ? null : round1(Y.px(y));
      if (gap) path += pen && kind === "step" ? `H${px}` : "";
      else if (pen) path += kind === "line" ? `L${px} ${py}` : `H${px}V${py}`;
      else path += kind === "cdf" && !path ? `M${px} ${round1(Y.px(Y.lo))}V${py}` : `M${px} ${py}`;
      pen = !gap;
    }
    return path;
  }
  /** Closed shapes between two lines, one per segment without a gap. */
  function areaPath(xs, low, high, X, Y) {
    let path = "", run = [];
    const close = () => {
      if (run.length > 1) {
        const up = run.map((k) => `${round1(X.px(xs[k]))} ${round1(Y.px(high[k]))}`);
        const down = run.map((k) => `${round1(X.px(xs[k]))} ${round1(Y.px(low[k]))}`).reverse();
        path += `M${up.join("L")}L${down.join("L")}Z`;
      }
      run = [];
    };
    const ok = (v) => Number.isFinite(v) && !(Y.log && v <= 0);
    xs.forEach((x, k) => { if (ok(low[k]) && ok(high[k])) run.push(k); else close(); });
    close();
    return path;
  }
  function barPath(series, X, Y) {
    let path = "";
    series.points.forEach(([x, y], k) => {
      const bar = series.bars[k];
      if (!bar || y === null) return;
      const [px, py] = [round1(X.px(x)), round1(Y.px(y))];
      const [x0, x1] = [bar[0], bar[1]].map((v) => (Number.isFinite(v) ? round1(X.px(v)) : px));
      const [y0, y1] = [bar[2], bar[3]].map((v) => (Number.isFinite(v) ? round1(Y.px(v)) : py));
      if (x0 !== x1) path += `M${x0} ${py}H${x1}M${x0} ${py - 3}v6M${x1} ${py - 3}v6`;
      if (y0 !== y1) path += `M${px} ${y0}V${y1}M${px - 3} ${y0}h6M${px - 3} ${y1}h6`;
    });
    return path;
  }

  // ---- One tooltip for the whole page -----------------------------------------------------------
  const NARROW = 520;
  const tip = h("div", { class: "tip", hidden: "", role: "status", "aria-live": "off" });
  /** Fixed to the viewport, so it never widens the page. Next to the pointer; on phones outside the plot. */
  function placeTip(clientX, clientY, plot) {
    tip.hidden = false;
    const { offsetWidth: w, offsetHeight: t } = tip;
    let x = clientX + 16 + w <= root.clientWidth - 8 ? clientX + 16 : clientX - 16 - w;
    let y = clientY - t / 2;
    if (plot.width < NARROW) {
      x = clientX - w / 2;
      y = plot.bottom + 6 + t <= innerHeight ? plot.bottom + 6 : plot.top - 6 - t;
    }
    tip.style.left = `${clamp(x, 8, Math.max(8, root.clientWidth - w - 8))}px`;
    tip.style.top = `${clamp(y, 8, Math.max(8, innerHeight - t - 8))}px`;
  }
  /** The dashes of a series. In panels, only of one that shares the panel of another. */
  const dashOf = (series, panels) => (panels ? null : series.dash) || (series.guest === null ? null : "6 3");
  /** Has each point of a series a marker? The points of a short band are the values that were run. */
  const hasMarks = (series, kind) => kind === "points" || (kind === "band" && series.points.length <= 40);
  /** What a chart draws of a series: a block, a line, or a marker. */
  function swatch(series, { kind, panels, fig }) {
    const line = s("path", { class: "stroke", d: "M1 6H25", "stroke-dasharray": dashOf(series, panels) });
    const block = s("path", { class: "area solid", d: "M3 1H23V11H3Z" });
    const mark = s("path", { class: "mark", d: series.mark, transform: "translate(13 6)" });
    const isMarked = hasMarks(series, kind) || (series.dense && !panels);
    const kids = kind === "stack" || kind === "columns" ? [block]
      : [kind === "points" && fig.join === false ? "" : line, isMarked ? mark : ""];
    return s("svg", { class: `swatch ${series.colour}`, viewBox: "0 0 26 12", "aria-hidden": "true" }, kids);
  }

