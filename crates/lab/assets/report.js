// Draws a Forebay report from the JSON in #forebay-data: no dependencies, no network, no build step.
// Strings from the data reach the page only as text nodes or CSS-free attributes, never as markup.
(() => {
  "use strict";

  // ---- Error count: tests and people read it from <html data-errors> ----------------------------
  const root = document.documentElement;
  let errors = 0;
  const countError = () => { root.dataset.errors = String(++errors); };
  root.dataset.errors = "0";
  addEventListener("error", countError);
  addEventListener("unhandledrejection", countError);
  document.addEventListener("securitypolicyviolation", countError);

  /** Runs one part of the page; a failure becomes a visible box and a count, the rest goes on. */
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
  /** Real minus sign, and thin spaces between thousands from five digits on. */
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
  /** Tick values, their labels and the power of ten that the axis title has to carry. */
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
  /** As many ticks along x as fit without their labels touching. */
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
  /** Lowest and highest of the values, widened where they are all equal or missing. */
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
  const DENSE = 250; // from so many points on, dashes would only look like noise: a few markers name the line
  function readSeries(raw, i, kind) {
    const points = list(raw.points);
    const sound = (p) => Array.isArray(p) && Number.isFinite(p[0]) && (p[1] === null || Number.isFinite(p[1]));
    const wrong = points.findIndex((p) => !sound(p));
    if (wrong >= 0) throw new Error(`series "${raw.name}": point ${wrong} is not a pair of numbers`);
    const uneven = ["low", "high", "bars"].find((key) => raw[key] && raw[key].length !== points.length);
    if (uneven) throw new Error(`series "${raw.name}": "${uneven}" and "points" differ in length`);
    const dense = points.length > DENSE && ["line", "band", "step"].includes(kind);
    const turn = i + Math.floor(i / COLOURS); // a second round of colours meets other dashes
    return {
      name: String(raw.name), points, low: raw.low, high: raw.high, bars: raw.bars,
      sorted: points.every((p, k) => k === 0 || p[0] >= points[k - 1][0]),
      colour: `c${i % COLOURS}`, mark: MARKS[turn % MARKS.length], order: i, dense,
      dash: dense || kind === "stack" ? "" : DASHES[turn % DASHES.length],
    };
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
  /** What a series says at x: { y, low, high }, or null in a gap and outside its data. */
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
  /** Closed shapes between two lines, one for each stretch without a gap. */
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
  /** Fixed to the viewport: it can never widen the page. Beside the pointer, or on phones clear of the plot. */
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
  function swatch(series, kind) {
    const line = s("path", { class: "stroke", d: "M1 6H25", "stroke-dasharray": series.dash || null });
    const block = s("path", { class: "area solid", d: "M3 1H23V11H3Z" });
    const mark = s("path", { class: "mark", d: series.mark, transform: "translate(13 6)" });
    const kids = kind === "stack" ? [block] : kind === "points" || series.dense ? [line, mark] : [line];
    return s("svg", { class: `swatch ${series.colour}`, viewBox: "0 0 26 12", "aria-hidden": "true" }, kids);
  }

  // ---- Chart ------------------------------------------------------------------------------------
  const KINDS = ["line", "step", "cdf", "points", "band", "stack"];
  let clips = 0;
  let active = null; // the chart whose cursor shows
  class Chart {
    constructor(fig, parts) {
      Object.assign(this, { fig, ...parts }); // parts: the elements svg, plot, legend, reset
      this.kind = fig.kind || "line";
      if (!KINDS.includes(this.kind)) throw new Error(`unknown kind "${this.kind}"`);
      this.style = this.kind === "band" ? "line" : this.kind;
      this.xAxis = fig.x || {};
      this.yAxis = fig.y || {};
      this.series = list(fig.series).map((one, i) => readSeries(one, i, this.kind));
      this.byPoint = this.kind === "points" || this.series.some((one) => !one.sorted);
      this.rules = list(fig.rules).filter((rule) => Number.isFinite(rule.at));
      this.panels = fig.layout === "small-multiples" && this.kind !== "stack";
      this.hidden = new Set();
      this.zoom = null;
      this.clip = `clip-${++clips}`;
      this.fullX = this.domainX();
      this.buildLegend();
      this.listen();
    }
    get shown() { return this.series.filter((one) => !this.hidden.has(one)); }

    buildLegend() {
      this.legend.replaceChildren(...this.series.map((one) => {
        const empty = !one.points.some((p) => p[1] !== null);
        const light = (on) => () => this.highlight(on ? one : null);
        return h("button", {
          type: "button", class: "key", "aria-pressed": "true", click: (event) => this.toggle(one, event.currentTarget),
          pointerenter: light(true), pointerleave: light(false), focus: light(true), blur: light(false),
        }, swatch(one, this.kind), h("span", {}, one.name, empty ? " (no data)" : ""));
      }));
    }
    toggle(one, button) {
      if (!this.hidden.delete(one)) this.hidden.add(one);
      button.setAttribute("aria-pressed", String(!this.hidden.has(one)));
      this.hideCursor();
      this.draw(this.width);
      this.highlight(one);
    }
    highlight(one) {
      this.svg.classList.toggle("picking", Boolean(one) && !this.hidden.has(one));
      for (const [series, node] of this.nodes) node.classList.toggle("picked", series === one);
    }
    setZoom(zoom) {
      this.zoom = zoom;
      this.reset.hidden = !zoom;
      this.hideCursor();
      this.draw(this.width);
    }
    /** Scales the visible x range by `factor` around a pixel; used by wheel, pinch and keys. */
    zoomBy(px, factor) {
      const { X, fullX: [lo, hi] } = this;
      const a = Math.max(lo, X.at(px - (px - X.from) * factor));
      const b = Math.min(hi, X.at(px + (X.to - px) * factor));
      if (b - a < (hi - lo) * 1e-5) return;
      this.setZoom(a <= lo && b >= hi ? null : [a, b]);
    }

    domainX() {
      const { min, max, scale } = this.xAxis;
      const log = scale === "log";
      const xs = this.series.flatMap((one) => one.points.map((p) => p[0])
        .concat(list(one.bars).flatMap((bar) => (bar ? [bar[0], bar[1]] : []))));
      let [lo, hi] = extent(xs, log);
      if (this.kind === "points") [lo, hi] = log ? [lo / 1.2, hi * 1.2] : [lo - 0.04 * (hi - lo), hi + 0.04 * (hi - lo)];
      else if (!log) { // 0.2 .. 199.8 reads better as 0 .. 200
        const step = niceStep(hi - lo, 8), near = 0.012 * (hi - lo);
        const [below, above] = [Math.floor(lo / step) * step, Math.ceil(hi / step) * step];
        [lo, hi] = [lo - below < near ? below : lo, above - hi < near ? above : hi];
      }
      return this.ordered(min ?? lo, max ?? hi, "x");
    }
    domainY(shown) {
      const { min, max, scale } = this.yAxis;
      const log = scale === "log";
      if (this.kind === "cdf" && !log) return this.ordered(min ?? 0, max ?? 1, "y");
      const inView = this.valuesInView(shown, this.zoom);
      const values = inView.some((v) => v !== null) ? inView : this.valuesInView(shown, null);
      let [lo, hi] = extent(values.concat(this.rules.filter((r) => r.axis === "y").map((r) => r.at)), log);
      if (!log) {
        if (!values.some((v) => v < 0)) lo = Math.max(0, lo);
        if (this.kind === "stack" || (lo > 0 && lo < 0.6 * hi)) lo = Math.min(0, lo); // most quantities start at nothing
        const step = niceStep(hi - lo, this.panels ? 3 : 6);
        [lo, hi] = [Math.floor(lo / step + 1e-9) * step, Math.ceil(hi / step - 1e-9) * step];
      } else if (lo > 0) [lo, hi] = [lo / 1.15, hi * 1.15];
      return this.ordered(min ?? lo, max ?? hi, "y");
    }
    ordered(lo, hi, name) {
      if (!(lo < hi)) throw new Error(`the ${name} axis runs from ${lo} to ${hi}`);
      const log = (name === "x" ? this.xAxis : this.yAxis).scale === "log";
      if (log && lo <= 0) throw new Error(`the ${name} axis is logarithmic and reaches ${lo}`);
      return [lo, hi];
    }
    valuesInView(shown, zoom) {
      const inside = (x) => !zoom || (x >= zoom[0] && x <= zoom[1]);
      if (this.kind === "stack") return [0].concat(this.stack.xs.flatMap((x, k) => (inside(x) ? [this.stack.top[k]] : [])));
      const values = [];
      for (const { points, low, high, bars } of shown) {
        points.forEach(([x, y], k) => {
          if (!inside(x)) return;
          values.push(y);
          if (low) values.push(low[k], high[k]);
          if (bars && bars[k]) values.push(bars[k][2], bars[k][3]);
        });
      }
      return values;
    }
    /** Stacks the shown series on the union of their x values; a gap counts as nothing. */
    buildStack(shown) {
      const xs = [...new Set(shown.flatMap((one) => one.points.map((p) => p[0])))].sort((a, b) => a - b);
      const top = xs.map(() => 0);
      const layers = new Map();
      for (const one of shown) {
        const low = top.slice();
        xs.forEach((x, k) => { const v = valueAt(one, x, "line"); top[k] += v ? v.y : 0; });
        layers.set(one, { low, high: top.slice() });
      }
      this.stack = { xs, top, layers };
    }

    // -- Drawing
    draw(width) {
      this.width = width;
      this.nodes = []; // [series, its SVG group], for highlighting
      if (this.kind === "stack") this.buildStack(this.shown);
      this.paint(this.layout(width, this.shown));
    }
    /** Works out all sizes: the y labels fix the left margin, rule labels the right one and the room above. */
    layout(width, shown) {
      const narrow = width < NARROW, log = this.yAxis.scale === "log";
      const [y0, y1] = this.domainY(shown.length ? shown : this.series);
      const height = this.panels ? (narrow ? 74 : 88) : clamp(width * 0.42, 230, 340);
      const yTicks = makeTicks(makeScale(y0, y1, 0, 1, log), this.panels ? 3 : height < 260 ? 5 : 6);
      const yRules = this.rules.filter((r) => r.axis === "y");
      const ruleWidth = Math.max(0, ...yRules.map((r) => textWidth(r.label || "", 11)));
      const left = Math.ceil(Math.max(8, ...yTicks.ticks.map((t) => textWidth(t.label)))) + 12;
      const right = Math.max(16, Math.ceil(Math.min(ruleWidth, width * 0.2)) + (ruleWidth ? 10 : 0));
      const X = this.X = makeScale(...(this.zoom || this.fullX), left, width - right, this.xAxis.scale === "log");
      const xTicks = fittingTicks(X, narrow ? 56 : 80);
      const xRules = this.placeXRules(this.rules.filter((r) => r.axis === "x"), X);
      const titles = { x: withUnit(this.xAxis, xTicks.e), y: withUnit(this.yAxis, yTicks.e) };

      const start = (titles.y ? 28 : 10) + xRules.rows * 15;
      const groups = this.panels ? shown.map((one) => [one]) : [shown];
      let y = start;
      this.frames = (groups.length ? groups : [[]]).map((members) => {
        const top = y + (this.panels ? (y === start ? 12 : 30) : 0);
        y = top + height;
        return { members, top, bottom: y, Y: makeScale(y0, y1, y, top, log) };
      });
      this.bottom = y;
      return { width, left, right, yTicks: yTicks.ticks, xTicks: xTicks.ticks, xRules, yRules, titles };
    }
    paint({ width, left, right, yTicks, xTicks, xRules, yRules, titles }) {
      const { svg, frames, X, bottom } = this;
      const top = frames[0].top, centre = (X.from + X.to) / 2;
      const limited = this.zoom || [this.xAxis, this.yAxis].some((axis) => Number.isFinite(axis.min ?? axis.max));
      const spill = limited ? 1 : 5; // markers at the edge of all data stay whole, cut data stay cut
      const clip = (f, k) => s("clipPath", { id: `${this.clip}-${k}` },
        s("rect", { x: left - spill, y: f.top - spill, width: X.to - left + 2 * spill, height: f.bottom - f.top + 2 * spill }));
      const data = ({ members, Y }, k) => s("g", { "clip-path": `url(#${this.clip}-${k})` },
        members.map((one) => this.layer(one, this.drawLine(one, X, Y))),
        members.map((one) => this.layer(one, this.drawMarks(one, X, Y))));
      const middle = (look, y, text) => s("text", { class: look, x: centre, y, "text-anchor": "middle" }, text);
      this.cursorGroup = s("g", { class: "cursor" });
      this.selection = s("rect", { class: "selection", visibility: "hidden", y: top, height: bottom - top });
      svg.setAttribute("viewBox", `0 0 ${width} ${bottom + (titles.x ? 42 : 24)}`);
      svg.replaceChildren();
      fill(svg, {}, [
        s("defs", {}, frames.map(clip)),
        s("text", { class: "axis-title", x: 0, y: 12 }, ellipsis(titles.y, width)),
        frames.map((f) => this.drawFrame(f, yTicks, xTicks)),
        frames.map(data),
        xRules.nodes(frames), // above the data: a reference line has to be seen in dense traces too
        frames.map((f) => this.drawYRules(yRules, f, right)),
        xTicks.map((t) => s("text", { class: "tick", x: round1(X.px(t.at)), y: bottom + 18, "text-anchor": "middle" }, t.label)),
        middle("axis-title", bottom + 37, ellipsis(titles.x, X.to - X.from + 2 * Math.min(left, right))),
        this.series.some((one) => one.points.length) ? "" : middle("empty", (top + bottom) / 2, "no data"),
        this.selection, this.cursorGroup,
      ]);
    }
    drawFrame({ members, top, bottom, Y }, yTicks, xTicks) {
      const { X } = this;
      return s("g", {},
        yTicks.map((t) => s("path", { class: "grid", d: `M${X.from} ${round1(Y.px(t.at))}H${X.to}` })),
        yTicks.map((t) => s("text", { class: "tick", x: X.from - 7, y: round1(Y.px(t.at)) + 4, "text-anchor": "end" }, t.label)),
        xTicks.map((t) => s("path", { class: "axis", d: `M${round1(X.px(t.at))} ${bottom}v4` })),
        s("path", { class: "axis", d: `M${X.from} ${bottom}H${X.to}` }),
        this.panels && members[0]
          ? s("text", { class: "panel-title", x: X.from, y: top - 7 }, ellipsis(members[0].name, X.to - X.from)) : "");
    }
    layer(one, node) {
      if (node) this.nodes.push([one, node]);
      if (node) node.setAttribute("class", `series ${one.colour}${one.dense ? " dense" : ""}`);
      return node;
    }
    drawLine(one, X, Y) {
      const dash = this.panels ? null : one.dash || null; // a panel's title already names its line
      const band = one.low && one.high && this.style === "line";
      const xs = one.points.map((p) => p[0]);
      const layer = this.kind === "stack" && this.stack.layers.get(one);
      const points = layer ? this.stack.xs.map((x, k) => [x, layer.high[k]]) : one.points;
      const kids = [];
      if (layer) kids.push(s("path", { class: "area solid", d: areaPath(this.stack.xs, layer.low, layer.high, X, Y) }));
      if (band) kids.push(s("path", { class: "area", d: areaPath(xs, one.low, one.high, X, Y) }));
      if (this.kind !== "points" || this.fig.join !== false) {
        kids.push(s("path", { class: this.kind === "points" ? "stroke thin" : "stroke", "stroke-dasharray": dash,
          d: linePath(points, X, Y, this.kind === "step" || this.kind === "cdf" ? this.kind : "line") }));
      }
      if (one.bars && this.kind === "points") kids.push(s("path", { class: "bars", d: barPath(one, X, Y) }));
      return s("g", {}, kids);
    }
    /** Markers lie above all lines: every point of "points", values alone between gaps, a few on dense lines. */
    drawMarks(one, X, Y) {
      if (this.kind === "stack") return null;
      const absent = (k) => !one.points[k] || one.points[k][1] === null;
      const named = one.dense && !this.panels;
      const marks = [];
      let next = X.from + 40 + (one.order % COLOURS) * 17; // staggered, so that markers of two series rarely meet
      one.points.forEach(([x, y], k) => {
        if (y === null || (Y.log && y <= 0) || (X.log && x <= 0)) return;
        const px = X.px(x), turn = named && px >= next;
        if (turn) next = px + 17 * COLOURS;
        if (!turn && this.kind !== "points" && !(absent(k - 1) && absent(k + 1))) return;
        const place = `translate(${round1(px)} ${round1(Y.px(y))})${turn ? " scale(1.3)" : ""}`;
        marks.push(s("path", { class: "mark", d: one.mark, transform: place }));
      });
      return s("g", {}, marks);
    }
    drawYRules(rules, { Y }, right) {
      const inside = rules.filter((r) => r.at >= Y.lo && r.at <= Y.hi).sort((a, b) => b.at - a.at);
      let last = -Infinity;
      return inside.map((r) => {
        const at = round1(Y.px(r.at));
        const y = last = Math.max(at, last + 13); // labels of close rules move apart, downwards
        return s("g", { class: "rule" }, s("path", { d: `M${this.X.from} ${at}H${this.X.to}` }),
          s("text", { x: this.X.to + 6, y: y + 4 }, ellipsis(r.label || "", right - 6, 11)));
      });
    }
    /** Puts the labels of vertical rules above the plot, in as many rows as they need. */
    placeXRules(rules, X) {
      const ends = [];
      const placed = rules.filter((r) => r.at >= X.lo && r.at <= X.hi).sort((a, b) => a.at - b.at).map((r) => {
        const label = ellipsis(r.label || "", (X.to - X.from) / 2, 11);
        const half = textWidth(label, 11) / 2;
        const x = clamp(X.px(r.at), X.from + half, Math.max(X.from + half, X.to - half));
        let row = label ? ends.findIndex((end) => end < x - half - 8) : 0;
        if (row < 0) row = ends.length;
        if (label) ends[row] = x + half;
        return { at: round1(X.px(r.at)), x: round1(x), row, label };
      });
      const lift = this.panels ? 20 : 0; // the first panel's title stands between labels and plot
      const nodes = (frames) => {
        const y = (p) => frames[0].top - lift - 5 - p.row * 15;
        const stem = (p) => (this.panels ? "" : `M${p.at} ${y(p) + 4}V${frames[0].top}`);
        return s("g", { class: "rule" },
          placed.map((p) => s("path", { d: stem(p) + frames.map((f) => `M${p.at} ${f.top}V${f.bottom}`).join("") })),
          placed.map((p) => s("text", { x: p.x, y: y(p), "text-anchor": "middle" }, p.label)));
      };
      return { rows: ends.length, nodes };
    }

    // -- Pointer, touch and keys
    listen() {
      const { svg } = this;
      const touches = new Map();
      let drag = null, pinch = 0;
      const local = (event) => {
        const box = svg.getBoundingClientRect();
        const unit = this.width / box.width; // differs from 1 while a resize is pending
        return [(event.clientX - box.left) * unit, (event.clientY - box.top) * unit];
      };
      const spread = () => { const [a, b] = [...touches.values()]; return [Math.abs(a - b), (a + b) / 2]; };
      const hover = (event) => {
        const [px, py] = local(event);
        this.showCursor(this.snap(px, py), event.clientX, event.clientY);
      };
      svg.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "mouse") {
          if (event.button !== 0) return;
          drag = local(event)[0];
          svg.setPointerCapture(event.pointerId);
        } else {
          touches.set(event.pointerId, local(event)[0]);
          if (touches.size === 2) pinch = spread()[0];
          else hover(event);
        }
      });
      svg.addEventListener("pointermove", (event) => {
        const px = local(event)[0];
        if (touches.has(event.pointerId)) touches.set(event.pointerId, px);
        if (touches.size === 2) {
          const [now, middle] = spread();
          if (pinch > 10 && now > 10) this.zoomBy(middle, pinch / now);
          pinch = now;
        } else if (drag !== null && Math.abs(px - drag) > 4) {
          this.select(drag, px);
        } else hover(event);
      });
      const finish = (event) => {
        touches.delete(event.pointerId);
        const ends = drag === null ? [0, 0] : this.select(drag, local(event)[0]);
        drag = null;
        this.selection.setAttribute("visibility", "hidden");
        if (event.type === "pointerup" && ends[1] - ends[0] > 6) this.setZoom(ends.map((p) => this.X.at(p)));
      };
      svg.addEventListener("pointerup", finish);
      svg.addEventListener("pointercancel", finish);
      svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.hideCursor(); });
      svg.addEventListener("dblclick", () => this.setZoom(null));
      svg.addEventListener("wheel", (event) => {
        if (!event.shiftKey) return; // a plain wheel keeps scrolling the page
        event.preventDefault();
        this.zoomBy(clamp(local(event)[0], this.X.from, this.X.to), Math.exp((event.deltaY || event.deltaX) * 0.002));
      }, { passive: false });
      svg.addEventListener("keydown", (event) => this.onKey(event));
      svg.addEventListener("blur", () => this.hideCursor());
    }
    select(a, b) {
      const [from, to] = [a, b].map((p) => clamp(p, this.X.from, this.X.to)).sort((p, q) => p - q);
      this.hideCursor();
      this.selection.setAttribute("x", from);
      this.selection.setAttribute("width", to - from);
      this.selection.setAttribute("visibility", "visible");
      return [from, to];
    }
    onKey(event) {
      const { X } = this;
      const here = this.cursorX ?? (X.log ? X.at((X.from + X.to) / 2) : (X.lo + X.hi) / 2);
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) {
        const jump = this.byPoint ? 0 : ((X.hi - X.lo) / 200) * (event.shiftKey ? 10 : 1) * 0.999;
        let next = null; // the nearest sample at least one jump away
        for (const [x] of this.shown.flatMap((one) => one.points)) {
          const ahead = (x - here) * step > jump && x >= X.lo && x <= X.hi;
          if (ahead && (next === null || (next - x) * step > 0)) next = x;
        }
        if (next === null) return;
        const box = this.svg.getBoundingClientRect();
        this.showCursor(next, box.left + X.px(next) * (box.width / this.width), box.top + box.height / 2, "polite");
      } else if (event.key === "+" || event.key === "=") this.zoomBy(X.px(here), 0.5);
      else if (event.key === "-") this.zoomBy(X.px(here), 2);
      else if (event.key === "Escape" || event.key === "0") this.setZoom(null);
      else return;
      event.preventDefault();
    }
    /** The sample x nearest to the pointer; for scattered points the nearest marker decides. */
    snap(px, py) {
      const x = this.X.at(clamp(px, this.X.from, this.X.to));
      let best = null, least = Infinity;
      const offer = (candidate, distance) => { if (distance < least) { least = distance; best = candidate; } };
      for (const { members, Y } of this.frames) {
        for (const { points } of members) {
          const k = indexAt(points, x);
          const near = this.byPoint ? points : points.slice(Math.max(0, k), k + 2);
          for (const [cx, cy] of near) {
            if (cx < this.X.lo || cx > this.X.hi || (this.X.log && cx <= 0)) continue;
            const dy = this.byPoint && cy !== null && !this.panels ? Y.px(cy) - py : 0;
            offer(cx, Math.hypot(this.X.px(cx) - px, dy));
          }
        }
      }
      return best;
    }
    showCursor(x, clientX, clientY, live = "off") {
      if (x === null) return;
      if (active && active !== this) active.hideCursor();
      active = this;
      this.cursorX = x;
      const px = round1(this.X.px(x));
      const read = this.frames.flatMap(({ members, Y }) => members.map((one) => ({ one, Y, value: valueAt(one, x, this.style) })))
        .filter(({ value }) => value || !this.byPoint);
      if (this.kind === "stack") read.reverse(); // as the layers lie on the chart
      const dots = read.filter(({ value }) => value).map(({ one, Y, value }) => {
        const layer = this.kind === "stack" && this.stack.layers.get(one);
        const y = layer ? layer.high[this.stack.xs.indexOf(x)] : value.y;
        return y >= Y.lo && y <= Y.hi ? s("circle", { class: one.colour, cx: px, cy: round1(Y.px(y)), r: 3.5 }) : "";
      });
      const rows = read.map(({ one, value }) => h("tr", {}, h("td", {}, swatch(one, this.kind)),
        h("th", { scope: "row" }, one.name), h("td", {}, value ? formatRange(value) : "–")));
      this.cursorGroup.replaceChildren(s("path", { d: `M${px} ${this.frames[0].top}V${this.bottom}` }), ...dots);
      tip.setAttribute("aria-live", live);
      tip.replaceChildren(
        h("p", {}, `${this.xAxis.label || "x"} `, h("strong", {}, `${format(x, 6)} ${this.xAxis.unit || ""}`)),
        h("table", {}, h("tbody", {}, rows)),
        h("p", { class: "tip-unit" }, withUnit(this.yAxis)));
      placeTip(clientX, clientY, this.svg.getBoundingClientRect());
    }
    hideCursor() {
      this.cursorX = null;
      tip.hidden = true;
      if (this.cursorGroup) this.cursorGroup.replaceChildren();
    }

    // -- Downloads
    csv() {
      const band = this.series.some((one) => one.low), bars = this.series.some((one) => one.bars);
      const head = ["series", withUnit(this.xAxis) || "x", withUnit(this.yAxis) || "y",
        ...(band ? ["low", "high"] : []), ...(bars ? ["x_low", "x_high", "y_low", "y_high"] : [])];
      const rows = this.series.flatMap((one) => one.points.map((p, k) => [one.name, p[0], p[1],
        ...(band ? [one.low && one.low[k], one.high && one.high[k]] : []),
        ...(bars ? (one.bars && one.bars[k]) || Array(4) : [])]));
      const cell = (v) => (typeof v === "string" ? `"${v.replace(/"/g, '""')}"` : v ?? "");
      return [head, ...rows].map((row) => Array.from(row, cell).join(",")).join("\n") + "\n";
    }
    /** A stand-alone SVG in the light colours: computed styles become attributes, title and legend are added. */
    exportSvg() {
      this.hideCursor();
      const { width } = this;
      let x = 0, y = Number(this.svg.getAttribute("viewBox").split(" ")[3]) + 18;
      const keys = this.shown.map((one) => {
        const name = ellipsis(one.name, width - 34), wide = 34 + textWidth(name);
        if (x > 0 && x + wide > width) [x, y] = [0, y + 18];
        const key = s("g", { class: one.colour, transform: `translate(${x} ${y - 10})` },
          [...swatch(one, this.kind).childNodes], s("text", { class: "export-key", x: 32, y: 10 }, name));
        x += wide + 18;
        return key;
      });
      const size = { width: width + 32, height: y + 60 };
      const page = s("svg", { xmlns: SVG, class: "chart", viewBox: `-16 -44 ${size.width} ${size.height}`, ...size },
        s("rect", { x: -16, y: -44, ...size, fill: "#fff" }),
        s("text", { class: "export-title", x: 0, y: -14 }, ellipsis(this.fig.title || "", width, 15)),
        [...this.svg.cloneNode(true).childNodes], keys);
      page.querySelectorAll(".cursor,.selection").forEach((node) => node.remove());
      root.classList.add("light");
      document.body.append(page); // only in the page are styles computed; nothing is painted before it goes again
      page.querySelectorAll("path,text").forEach((node) => {
        const style = getComputedStyle(node);
        for (const name of EXPORTED) node.setAttribute(name, style.getPropertyValue(name));
      });
      page.remove();
      root.classList.remove("light");
      [page, ...page.querySelectorAll("[class]")].forEach((node) => node.removeAttribute("class"));
      return new XMLSerializer().serializeToString(page);
    }
  }
  const EXPORTED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin",
    "paint-order", "font-size", "font-weight", "font-family"];

  function download(name, type, text) {
    const link = h("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // ---- Figures and tables -----------------------------------------------------------------------
  const charts = [];
  const button = (label, title, click) => h("button", { type: "button", class: "tool", title, click }, label);
  function buildFigure(fig) {
    const box = h("figure", { id: `figure-${slug(fig.id)}` });
    guard(box, `The figure "${fig.title || fig.id}"`, () => {
      const name = slug(fig.id);
      const svg = s("svg", {
        class: "chart", tabindex: "0", role: "group",
        "aria-label": `Chart: ${fig.title || fig.id}. Left and right arrow keys read values, plus and minus zoom, Escape resets.`,
      });
      const legend = h("div", { class: "legend", role: "group", "aria-label": "Series shown" });
      const parts = { svg, legend, plot: h("div", { class: "plot" }, svg) };
      let chart = null;
      parts.reset = button("Reset zoom", "Show the whole x range again", () => chart.setZoom(null));
      parts.reset.hidden = true;
      const panels = button("Panels", "One panel per series", () => {
        chart.panels = !chart.panels;
        panels.setAttribute("aria-pressed", String(chart.panels));
        chart.hideCursor();
        chart.draw(chart.width);
      });
      chart = new Chart(fig, parts);
      panels.setAttribute("aria-pressed", String(chart.panels));
      panels.hidden = chart.series.length < 2 || chart.kind === "stack";
      box.append(
        h("div", { class: "figure-head" }, h("h3", {}, fig.title || fig.id), h("div", { class: "tools" }, parts.reset, panels,
          button("CSV", "Download the data of this chart as CSV", () => download(`${name}.csv`, "text/csv", chart.csv())),
          button("SVG", "Download this chart as SVG", () => download(`${name}.svg`, "image/svg+xml", chart.exportSvg())))),
        legend, parts.plot, fig.caption ? h("figcaption", {}, fig.caption) : "");
      chart.box = box;
      charts.push(chart);
    });
    return box;
  }
  function buildTable(table) {
    const box = h("div", { class: "table-block", id: `table-${slug(table.id)}` });
    guard(box, `The table "${table.title || table.id}"`, () => {
      const columns = list(table.columns);
      const kind = (k) => (columns[k] && columns[k].numeric ? "num" : null);
      const head = columns.map((c, k) => h("th", { scope: "col", class: kind(k) },
        c.name, c.unit ? h("span", { class: "unit" }, ` ${c.unit}`) : ""));
      const body = list(table.rows).map((row) => h("tr", {}, columns.map((_, k) => h("td", { class: kind(k) }, orDash(row[k])))));
      const title = `table-title-${slug(table.id)}`;
      box.append(h("h3", { id: title }, table.title || table.id),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": title },
          h("table", { class: "data" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body))),
        body.length ? "" : h("p", { class: "quiet" }, "No rows."));
    });
    return box;
  }

  // ---- Claims -----------------------------------------------------------------------------------
  // Every verdict has a shape and a word of its own, so that colour is never the only sign.
  const VERDICTS = {
    "reproduced": ["Reproduced", "ok", "M8 1a7 7 0 1 0 .01 0ZM4.6 8.2L7 10.6L11.4 5.6"],
    "not-reproduced": ["Not reproduced", "bad", "M2 2H14V14H2ZM5.4 5.4L10.6 10.6M10.6 5.4L5.4 10.6"],
    "inconclusive": ["Inconclusive", "unsure", "M8 1.4L15 14H1ZM8 6V9.6M8 11.4V12.2"],
    "refuted": ["Refuted", "void", "M8 .8L15.2 8L8 15.2L.8 8ZM4.9 8H11.1"],
    "not-run": ["Not run", "none", "M8 1.5a6.5 6.5 0 1 0 .01 0Z"],
  };
  const OUTCOMES = { holds: ["Holds", "reproduced"], fails: ["Fails", "not-reproduced"], straddles: ["Straddles", "inconclusive"] };
  const verdictOf = (name) => VERDICTS[name] || [String(name), "none", VERDICTS["not-run"][2]];
  function icon(name) {
    const [, look, shape] = verdictOf(name);
    return s("svg", { class: `icon ${look}`, viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: shape }));
  }
  function badge(name, word) {
    const [label, look] = verdictOf(name);
    return h("span", { class: `badge ${look}` }, icon(name), h("span", {}, word || label));
  }
  const outcome = (name) => { const [word, like] = OUTCOMES[name] || [String(name), "not-run"]; return badge(like, word); };
  const orDash = (v) => (v === null || v === undefined || v === "" ? "–" : String(v));

  const headRow = (names) => h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name))));

  function checksTable(checks) {
    if (!checks.length) return h("p", { class: "quiet" }, "No checks recorded.");
    const columns = [["outcome", (c) => outcome(c.outcome)], ["quantity", (c) => orDash(c.what)],
      ["measured", (c) => orDash(c.value)], ["interval", (c) => orDash(c.interval)], ["required", (c) => orDash(c.bound)]];
    const row = (c) => h("tr", {}, columns.map(([name, content]) => h("td", { "data-label": name }, content(c))));
    return h("table", { class: "checks stacking" }, headRow(columns.map(([name]) => name)), h("tbody", {}, checks.map(row)));
  }
  /** The check that decides: the first one that does not hold, otherwise the first. */
  function evidence(claim) {
    const checks = list(claim.checks);
    if (!checks.length) return h("p", { class: "quiet" }, "No checks recorded.");
    const lead = checks.find((c) => c.outcome !== "holds") || checks[0];
    const held = checks.filter((c) => c.outcome === "holds").length;
    return [h("p", { class: "what" }, orDash(lead.what)),
      h("p", {}, h("strong", {}, orDash(lead.value)), lead.interval ? ` (${lead.interval})` : "",
        lead.bound ? [h("span", { class: "quiet" }, " required "), lead.bound] : ""),
      checks.length > 1 ? h("p", { class: "quiet" }, `${held} of ${checks.length} checks hold`) : ""];
  }
  const counted = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  function claimDetails(claim, sections) {
    const variants = list(claim.variants), checks = list(claim.checks);
    if (!checks.length && !variants.length && !claim.printed && !claim.note) return null;
    const section = sections.find((one) => one.id === claim.section);
    const summary = counted(checks.length, "check") + (variants.length ? `, ${counted(variants.length, "variant")}` : "");
    return h("details", {}, h("summary", {}, summary),
      claim.printed ? h("p", {}, h("span", { class: "quiet" }, "The paper printed: "), claim.printed) : "",
      checksTable(checks), paragraphs(claim.note),
      variants.map((v) => h("div", { class: "variant" },
        h("h4", {}, "Variant ", h("code", {}, v.name), badge(v.verdict)), checksTable(list(v.checks)))),
      section ? h("p", {}, h("a", { href: `#section-${slug(section.id)}` }, `Figures: ${section.title}`)) : "");
  }
  function claimRows(claim, sections) {
    const id = `claim-${slug(claim.id)}`;
    const details = claimDetails(claim, sections);
    return h("tbody", { id, class: "claim" },
      h("tr", {},
        h("th", { scope: "row" }, h("a", { href: `#${id}` }, claim.id)),
        h("td", {}, claim.claim),
        h("td", {}, badge(claim.verdict), claim.provisional ? h("span", { class: "provisional" }, "provisional") : ""),
        h("td", { class: "evidence" }, evidence(claim))),
      details && h("tr", { class: "more" }, h("td", { colspan: "4" }, details)));
  }
  function buildClaims(claims, sections) {
    const table = h("table", { class: "claims" }, headRow(["Id", "Claim", "Verdict", "Evidence"]),
      claims.map((claim) => claimRows(claim, sections)));
    const all = [...table.querySelectorAll("details")];
    const open = button("Open all", "Open or close the details of every claim", () => {
      const shut = all.some((one) => !one.open);
      all.forEach((one) => { one.open = shut; });
      open.textContent = shut ? "Close all" : "Open all";
    });
    open.hidden = all.length < 2;
    const note = "Verdicts marked provisional come from short runs; full-length runs can change them.";
    return h("section", { id: "claims" },
      h("div", { class: "figure-head" }, h("h2", {}, "Claims"), h("div", { class: "tools" }, open)),
      claims.some((claim) => claim.provisional) ? h("p", { class: "quiet" }, note) : "", table);
  }
  function verdictSummary(claims) {
    const counts = new Map(Object.keys(VERDICTS).map((name) => [name, 0]));
    for (const claim of claims) counts.set(claim.verdict, (counts.get(claim.verdict) || 0) + 1);
    return h("ul", { class: "verdicts", "aria-label": "Verdicts" }, [...counts].filter(([, n]) => n > 0).map(([name, n]) =>
      h("li", { class: verdictOf(name)[1] }, icon(name), h("strong", {}, n), h("span", {}, verdictOf(name)[0].toLowerCase()))));
  }

  // ---- Page -------------------------------------------------------------------------------------
  function buildHeader(data) {
    const claims = list(data.claims), facts = list(data.facts);
    document.getElementById("top").append(
      data.subtitle ? h("p", { class: "subtitle" }, data.subtitle) : "",
      claims.length ? verdictSummary(claims) : "",
      facts.length ? h("dl", { class: "facts" }, facts.map(([name, fact]) => h("div", {}, h("dt", {}, name), h("dd", {}, fact)))) : "",
      data.command ? commandBox(data.command) : "");
  }
  function commandBox(command) {
    const code = h("code", {}, command);
    const done = h("span", { class: "quiet", role: "status" });
    const copy = async () => {
      let ok = false;
      try {
        await navigator.clipboard.writeText(command);
        ok = true;
      } catch (_) { // no clipboard here (old browser, plain http): select the text and use the old way
        getSelection().selectAllChildren(code);
        ok = document.execCommand("copy");
      }
      done.textContent = ok ? "Copied" : "Selected: press Ctrl+C";
    };
    return h("div", { class: "command" }, h("p", { class: "label" }, "Repeat this report"),
      h("pre", { tabindex: "0" }, code), h("button", { type: "button", class: "tool", click: copy }, "Copy"), done);
  }
  function buildSection(section, data) {
    const tested = list(data.claims).filter((claim) => claim.section === section.id);
    const part = (kind, id, build) => {
      const found = list(data[kind]).find((one) => one.id === id), lost = h("div");
      if (found) return build(found);
      guard(lost, `"${id}"`, () => { throw new Error(`the data has no such entry under "${kind}"`); });
      return lost;
    };
    const links = tested.map((c) => h("a", { href: `#claim-${slug(c.id)}`, title: verdictOf(c.verdict)[0] }, icon(c.verdict), c.id));
    return h("section", { id: `section-${slug(section.id)}` }, h("h2", {}, section.title || section.id),
      tested.length ? h("p", { class: "tested" }, "Claims tested here:", links) : "", paragraphs(section.text),
      list(section.figures).map((id) => part("figures", id, buildFigure)),
      list(section.tables).map((id) => part("tables", id, buildTable)));
  }
  /** Figures and tables that no section names still have to appear. */
  function leftovers(data) {
    const named = (key) => new Set(list(data.sections).flatMap((one) => list(one[key])));
    const rest = (key) => list(data[key]).filter((one) => !named(key).has(one.id)).map((one) => one.id);
    const [figures, tables] = [rest("figures"), rest("tables")];
    const title = list(data.sections).length ? "Further results" : "Results";
    return figures.length + tables.length ? [{ id: "other", title, figures, tables }] : [];
  }
  function buildContents(main) {
    const links = [...main.querySelectorAll("section")].map((one) =>
      h("li", {}, h("a", { href: `#${one.id}` }, one.querySelector("h2").textContent)));
    if (links.length < 2) return;
    const box = h("details", {}, h("summary", {}, "Contents"), h("ol", {}, links));
    const wide = matchMedia("(min-width: 1120px)");
    const fit = () => { box.open = wide.matches; };
    wide.addEventListener("change", fit);
    fit();
    document.getElementById("contents").append(box);
    const watch = new IntersectionObserver((entries) => entries.forEach((entry) => {
      const link = links.find((li) => li.firstChild.getAttribute("href") === `#${entry.target.id}`);
      if (link) link.classList.toggle("here", entry.isIntersecting);
    }), { rootMargin: "-20% 0px -70% 0px" });
    main.querySelectorAll("section").forEach((one) => watch.observe(one));
  }
  /** Reads all widths before drawing anything, so that the browser lays the page out only once. */
  function drawAll() {
    const widths = charts.map((chart) => chart.plot.clientWidth);
    const draw = (chart, k) => guard(chart.box, `The figure "${chart.fig.title || chart.fig.id}"`, () => {
      chart.draw(Math.max(260, widths[k]));
      return true;
    });
    return charts.map(draw).filter(Boolean).length;
  }
  function followResize() {
    let pending = 0;
    const redraw = () => {
      pending = 0;
      for (const chart of charts) {
        const width = Math.max(260, chart.plot.clientWidth);
        if (chart.plot.isConnected && Math.abs(width - chart.width) >= 1) chart.draw(width);
      }
    };
    const forget = (event) => { if (active && !(event.target.closest && event.target.closest(".chart"))) active.hideCursor(); };
    addEventListener("resize", (event) => { forget(event); pending = pending || requestAnimationFrame(redraw); });
    addEventListener("scroll", forget, { passive: true });
    addEventListener("pointerdown", forget);
  }
  function openForPrint() {
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = [...document.querySelectorAll("main details:not([open])")];
      opened.forEach((d) => { d.open = true; });
    });
    addEventListener("afterprint", () => opened.forEach((d) => { d.open = false; }));
  }
  function openTarget() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const detail = target.matches(".claim") && target.querySelector("details");
    if (detail) detail.open = true;
    target.scrollIntoView();
  }

  const main = document.getElementById("main");
  guard(main, "The report", () => {
    const data = JSON.parse(document.getElementById("forebay-data").textContent);
    buildHeader(data);
    if (list(data.claims).length) main.append(buildClaims(data.claims, list(data.sections)));
    for (const section of [...list(data.sections), ...leftovers(data)]) main.append(buildSection(section, data));
    buildContents(main);
    const maker = data.version ? `Made with ${data.version}. ` : "";
    document.getElementById("foot").append(maker, "This page is complete in itself and loads nothing.");
    document.body.append(tip);
    root.dataset.charts = String(drawAll());
    followResize();
    openForPrint();
    addEventListener("hashchange", openTarget);
    openTarget();
  });
  root.dataset.charts = root.dataset.charts || "0";
})();
