// Second of the files of one script: class Chart, drawing and interaction.
  // ---- Chart ------------------------------------------------------------------------------------
  const KINDS = ["line", "step", "cdf", "points", "band", "stack", "columns"];
  const SLOT = 0.8; // what the columns of one category take of its room
  let clips = 0;
  let active = null; // the chart whose cursor shows
  class Chart {
    constructor(fig, parts) {
      Object.assign(this, parts); // the elements svg, plot, legend, reset
      this.hidden = new Set();
      this.zoom = null;
      this.clip = `clip-${++clips}`;
      this.read(fig);
      this.buildLegend();
      this.listen();
    }
    read(fig) {
      this.fig = fig;
      this.kind = fig.kind || "line";
      if (!KINDS.includes(this.kind)) throw new Error(`unknown kind "${this.kind}"`);
      this.style = { band: "line", columns: "points" }[this.kind] || this.kind;
      this.xAxis = fig.x || {};
      this.yAxis = fig.y || {};
      this.series = list(fig.series).map((one, i) => readSeries(one, i, this.kind));
      colourDisciplines(this.series);
      this.categories = this.kind === "columns" ? list((fig.x || {}).categories).map(String) : null;
      this.byPoint = this.style === "points" || this.series.some((one) => !one.sorted);
      this.rules = list(fig.rules).filter((rule) => Number.isFinite(rule.at));
      this.panels = fig.layout === "small-multiples" && this.kind !== "stack";
      this.fullX = this.domainX();
    }
    /** Draws other data. Series that were hidden, panels, and a zoom into a range that still exists stay. */
    update(fig) {
      const { panels } = this, hidden = new Set([...this.hidden].map((one) => one.name));
      this.read(fig);
      this.panels = panels;
      this.hidden = new Set(this.series.filter((one) => hidden.has(one.name)));
      if (this.zoom && (this.zoom[0] < this.fullX[0] || this.zoom[1] > this.fullX[1])) this.zoom = null;
      this.reset.hidden = !this.zoom;
      if (this.keyNames().join("\n") !== this.keys.join("\n")) this.buildLegend(); // else a focused button stays
      this.hideCursor();
      this.draw(this.width);
    }
    get shown() { return this.series.filter((one) => !this.hidden.has(one)); }

    /** A button for each series, which shows or hides it. */
    buildLegend() {
      this.keys = this.keyNames();
      this.legend.replaceChildren(...this.series.map((one, k) => {
        const light = (on) => () => this.highlight(on ? this.series[k] : null);
        return h("button", {
          type: "button", class: "key", "aria-pressed": String(!this.hidden.has(one)),
          click: (event) => this.toggle(this.series[k], event.currentTarget),
          pointerenter: light(true), pointerleave: light(false), focus: light(true), blur: light(false),
        }, swatch(one, this), h("span", {}, this.keys[k]));
      }));
    }
    keyNames() {
      return this.series.map((one) => one.name + (one.points.some((p) => p[1] !== null) ? "" : " (no data)"));
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
      if (this.categories) return [-0.5, Math.max(1, this.categories.length) - 0.5];
      const xs = this.series.flatMap((one) => one.points.map((p) => p[0])
        .concat(list(one.bars).flatMap((bar) => (bar ? [bar[0], bar[1]] : [])), list(one.outline).map((p) => p[0])));
      let [lo, hi] = extent(xs, log);
      if (!log && !this.series.some((one) => one.points.some((p) => p[0] < 0))) lo = Math.max(0, lo);
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
        // An interval does not extend the axis below 0 if no value is negative.
        if (!shown.some((one) => one.points.some((p) => p[1] !== null && p[1] < 0))) lo = Math.max(0, lo);
        if (this.categories) [lo, hi] = [Math.min(0, lo), Math.max(0, hi)];
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
      for (const { points, low, high, bars, outline } of shown) {
        for (const [x, y] of list(outline)) if (inside(x)) values.push(y);
        points.forEach(([x, y], k) => {
          if (!inside(x)) return;
          values.push(y);
          if (low) values.push(low[k], high[k]);
          if (bars && bars[k]) values.push(bars[k][2], bars[k][3]);
        });
      }
      return values;
    }
    /** Stacks the shown series on the union of their x values; a gap counts as 0. */
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
    /** Computes all sizes: y labels set the left margin, rule labels the right and top margins. */
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
      const xTicks = this.categories ? this.categoryTicks(X) : fittingTicks(X, narrow ? 56 : 80);
      const xRules = this.placeXRules(this.rules.filter((r) => r.axis === "x"), X);
      const titles = { x: axisTitle(this.xAxis, xTicks.e), y: axisTitle(this.yAxis, yTicks.e) };

      const start = (titles.y ? 28 : 10) + xRules.rows * 15;
      // A guest series shares the panel of its host, unless the host is hidden.
      const hosted = (one) => one.guest !== null && shown.some((other) => other.name === one.guest);
      const guests = (host) => shown.filter((one) => one.guest === host.name);
      const groups = this.panels ? shown.filter((one) => !hosted(one)).map((one) => [one, ...guests(one)]) : [shown];
      let y = start;
      this.frames = (groups.length ? groups : [[]]).map((members) => {
        const top = y + (this.panels ? (y === start ? 12 : 30) : 0);
        y = top + height;
        return { members, top, bottom: y, Y: makeScale(y0, y1, y, top, log) };
      });
      this.bottom = y;
      return { width, left, right, yTicks: yTicks.ticks, xTicks: xTicks.ticks, xRules, yRules, titles };
    }
    /** The names of the categories, as many as fit. */
    categoryTicks(X) {
      const room = X.px(1) - X.px(0);
      const widest = Math.max(1, ...this.categories.map((name) => textWidth(name)));
      const stride = Math.max(1, Math.ceil((Math.min(widest, 90) + 8) / room));
      const ticks = this.categories.map((name, k) => ({ at: k, label: ellipsis(name, stride * room - 6) }));
      return { e: 0, ticks: ticks.filter((t) => t.at % stride === 0 && t.at >= X.lo && t.at <= X.hi) };
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
      this.playhead = s("path", { class: "playhead" });
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
        this.selection, this.cursorGroup, this.playhead,
      ]);
    }
    /** Draws a vertical line at x; none if x is null or not visible. */
    mark(x) {
      const isSeen = x !== null && x >= this.X.lo && x <= this.X.hi;
      this.playhead.setAttribute("d", isSeen ? `M${round1(this.X.px(x))} ${this.frames[0].top}V${this.bottom}` : "");
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
      const dash = dashOf(one, this.panels);
      const band = one.low && one.high && this.style === "line";
      const xs = one.points.map((p) => p[0]);
      const layer = this.kind === "stack" && this.stack.layers.get(one);
      const points = layer ? this.stack.xs.map((x, k) => [x, layer.high[k]]) : one.points;
      const kids = [];
      if (this.categories) return s("g", {}, this.drawColumns(one, X, Y));
      if (layer) kids.push(s("path", { class: "area solid", d: areaPath(this.stack.xs, layer.low, layer.high, X, Y) }));
      if (band) kids.push(s("path", { class: "area", d: areaPath(xs, one.low, one.high, X, Y) }));
      if (this.kind !== "points" || this.fig.join !== false) {
        kids.push(s("path", { class: this.kind === "points" ? "stroke thin" : "stroke", "stroke-dasharray": dash,
          d: linePath(points, X, Y, this.kind === "step" || this.kind === "cdf" ? this.kind : "line") }));
      }
      if (one.outline) kids.push(s("path", { class: "area", d: `${linePath(one.outline, X, Y, "line")}Z` }),
        s("path", { class: "stroke", d: linePath(one.outline, X, Y, "line") }));
      if (one.bars && this.kind === "points") kids.push(s("path", { class: "bars", d: barPath(one, X, Y) }));
      return s("g", {}, kids);
    }
    /** Columns of a category, next to each other in the order of the legend; whiskers at their centres. */
    drawColumns(one, X, Y) {
      const side = this.panels ? [one] : this.shown;
      const width = (X.px(1) - X.px(0)) * SLOT / side.length;
      const shift = (side.indexOf(one) - (side.length - 1) / 2) * width;
      const floor = Y.px(clamp(0, Y.lo, Y.hi)), half = Math.max(1, width - 1.5) / 2;
      const column = ([x, y]) => {
        const px = X.px(x) + shift;
        return y === null ? "" : `M${round1(px - half)} ${round1(floor)}V${round1(Y.px(y))}H${round1(px + half)}V${round1(floor)}Z`;
      };
      const whiskers = one.bars && barPath(one, { px: (v) => X.px(v) + shift }, Y);
      return [s("path", { class: "area solid column", d: one.points.map(column).join("") }),
        whiskers ? s("path", { class: "bars", d: whiskers }) : ""];
    }
    /** Markers, above all lines: every point of "points" and of short bands, single values between gaps, a few on dense lines. */
    drawMarks(one, X, Y) {
      if (this.kind === "stack" || this.categories) return null;
      const absent = (k) => !one.points[k] || one.points[k][1] === null;
      const named = one.dense && !this.panels;
      const marks = [];
      let next = X.from + 40 + (one.order % COLOURS) * 17; // staggered, so that markers of two series rarely meet
      one.points.forEach(([x, y], k) => {
        if (y === null || (Y.log && y <= 0) || (X.log && x <= 0)) return;
        const px = X.px(x), turn = named && px >= next;
        if (turn) next = px + 17 * COLOURS;
        const all = hasMarks(one, this.kind);
        if (!turn && !all && !(absent(k - 1) && absent(k + 1))) return;
        const size = turn ? " scale(1.3)" : all ? "" : " scale(0.5)";
        const place = `translate(${round1(px)} ${round1(Y.px(y))})${size}`;
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
    /** Places the labels of vertical rules above the plot, in one or more rows. */
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
      if (this.kind === "stack") read.reverse(); // the order of the layers on the chart
      const dots = read.filter(({ value }) => value && !this.categories).map(({ one, Y, value }) => {
        const layer = this.kind === "stack" && this.stack.layers.get(one);
        const y = layer ? layer.high[this.stack.xs.indexOf(x)] : value.y;
        return y >= Y.lo && y <= Y.hi ? s("circle", { class: one.colour, cx: px, cy: round1(Y.px(y)), r: 3.5 }) : "";
      });
      const rows = read.map(({ one, value }) => h("tr", {}, h("td", {}, swatch(one, this)),
        h("th", { scope: "row" }, one.name), h("td", {}, value ? formatRange(value) : "–")));
      this.cursorGroup.replaceChildren(s("path", { d: `M${px} ${this.frames[0].top}V${this.bottom}` }), ...dots);
      tip.setAttribute("aria-live", live);
      tip.replaceChildren(
        h("p", {}, `${this.xAxis.label || "x"} `, h("strong", {}, this.categories ? this.categories[x] : `${format(x, 6)} ${this.xAxis.unit || ""}`)),
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
      const rows = this.series.flatMap((one) => one.points.map((p, k) => [one.name, this.categories ? this.categories[p[0]] : p[0], p[1],
        ...(band ? [one.low && one.low[k], one.high && one.high[k]] : []),
        ...(bars ? (one.bars && one.bars[k]) || Array(4) : [])]));
      const cell = (v) => (typeof v === "string" ? `"${v.replace(/"/g, '""')}"` : v ?? "");
      return [head, ...rows].map((row) => Array.from(row, cell).join(",")).join("\n") + "\n";
    }
    /** A stand-alone SVG in light colours: computed styles become attributes; title and legend are added. */
    exportSvg() {
      this.hideCursor();
      const { width } = this;
      let x = 0, y = Number(this.svg.getAttribute("viewBox").split(" ")[3]) + 18;
      const keys = this.shown.map((one) => {
        const name = ellipsis(one.name, width - 34), wide = 34 + textWidth(name);
        if (x > 0 && x + wide > width) [x, y] = [0, y + 18];
        const key = s("g", { class: one.colour, transform: `translate(${x} ${y - 10})` },
          [...swatch(one, this).childNodes], s("text", { class: "export-key", x: 32, y: 10 }, name));
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

  const download = (name, type, text) => downloadBlob(name, new Blob([text], { type }));
  function downloadBlob(name, blob) {
    const link = h("a", { download: name, href: URL.createObjectURL(blob) });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

