// Third of the files of one script: figures and tables, with the marks of verdicts.
  // ---- Figures and tables -----------------------------------------------------------------------
  const charts = [];
  const tables = []; // the boxes of all tables of data
  let claimsById = new Map(); // for the links from figures and tables to the claims they belong to
  const claimLinks = (ids) => list(ids).map((id) => claimsById.get(id)).filter(Boolean).map((c) =>
    h("a", { href: `#claim-${slug(c.id)}`, title: verdictOn(c)[1] || verdictOf(c.verdict)[0] }, icon(verdictOn(c)[0]), c.id));
  function belongs(ids) {
    const links = claimLinks(ids);
    return links.length ? h("p", { class: "tested" }, "Claims:", links) : "";
  }
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
      parts.reset = button("Reset zoom", "Show the complete x range again", () => chart.setZoom(null));
      parts.reset.hidden = true;
      const panels = button("Panels", "One panel per series", () => {
        chart.panels = !chart.panels;
        panels.setAttribute("aria-pressed", String(chart.panels));
        chart.buildLegend();
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
        legend, parts.plot, fig.caption ? h("figcaption", {}, fig.caption) : "", belongs(fig.claims));
      chart.box = box;
      charts.push(chart);
    });
    return box;
  }
  /** A mean, with its half-width on a second line. */
  function estimate(text) {
    const [mean, half] = text.split(" ± ");
    return half === undefined ? text : [mean, h("span", { class: "half" }, ` ± ${half}`)];
  }
  /** A text, or a number next to that of the paper, marked if they do not agree. */
  function cell(value) {
    if (value === null || typeof value !== "object") return estimate(orDash(value));
    if (value.best) return h("strong", {}, estimate(orDash(value.text)));
    const [word, like] = OUTCOMES[value.outcome] || [];
    return [h("span", {}, orDash(value.text)),
      value.printed ? h("span", { class: "printed" }, `paper ${value.printed}`) : "",
      like ? h("span", { class: `badge ${verdictOf(like)[1]}`, title: word }, icon(like),
        h("span", {}, value.outcome === "fails" ? "differs" : "unclear")) : ""];
  }
  const isEmpty = (value) => ["", "-", "–", null, undefined].includes(value);
  function buildTable(table) {
    const box = h("div", { class: "table-block", id: `table-${slug(table.id)}` });
    guard(box, `The table "${table.title || table.id}"`, () => {
      const columns = list(table.columns);
      const kind = (k) => (columns[k] && columns[k].numeric ? "num" : null);
      const head = columns.map((c, k) => h("th", { scope: "col", class: kind(k) },
        c.name, c.unit ? h("span", { class: "unit" }, ` ${c.unit}`) : ""));
      const rows = list(table.rows);
      // Rows with the same word in front are a group, which a line separates from the next one.
      const leads = rows.map((row) => (columns[0] && !columns[0].numeric && typeof row[0] === "string" ? row[0] : null));
      const isGrouped = leads.some((lead, k) => k > 0 && lead !== null && lead === leads[k - 1]);
      const group = (k) => (isGrouped && k > 0 && leads[k] !== leads[k - 1] ? "group" : null);
      const body = rows.map((row, at) => h("tr", { class: group(at) }, columns.map((c, k) =>
        h("td", { class: [kind(k), c.axis && "axis", isEmpty(row[k]) && "empty", row[k] && row[k].heat !== undefined && `heat heat${row[k].heat}`].filter(Boolean).join(" ") || null, "data-label": c.unit ? `${c.name}, ${c.unit}` : c.name }, cell(row[k])))));
      const title = `table-title-${slug(table.id)}`;
      const scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": title },
        h("table", { class: "data" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
      const parts = [scroll, body.length ? "" : h("p", { class: "quiet" }, "No rows."),
        table.caption ? h("p", { class: "note" }, table.caption) : "", belongs(table.claims)];
      const heading = h("h3", { id: title }, table.title || table.id);
      box.append(...(table.folded ? [h("details", { toggle: fitTables }, h("summary", {}, heading), ...parts)] : [heading, ...parts]));
      tables.push(scroll);
    });
    return box;
  }

  // ---- Verdicts ---------------------------------------------------------------------------------
  // Every verdict has its own shape and word, so that colour is not the only sign.
  const VERDICTS = {
    "reproduced": ["Reproduced", "ok", "M8 1a7 7 0 1 0 .01 0ZM4.6 8.2L7 10.6L11.4 5.6"],
    "not-reproduced": ["Not reproduced", "bad", "M2 2H14V14H2ZM5.4 5.4L10.6 10.6M10.6 5.4L5.4 10.6"],
    "inconclusive": ["Inconclusive", "unsure", "M8 1.4L15 14H1ZM8 6V9.6M8 11.4V12.2"],
    "refuted": ["Refuted", "void", "M8 .8L15.2 8L8 15.2L.8 8ZM4.9 8H11.1"],
    "not-run": ["Not run", "none", "M8 1.5a6.5 6.5 0 1 0 .01 0Z"],
    "mixed": ["Mixed", "unsure", "M8 1.5a6.5 6.5 0 1 0 .01 0ZM8 1.5V14.5"],
  };
  /** Verdict and word of a claim. One that is tested for several disciplines has the number of those for which it holds. */
  function verdictOn(claim) {
    if (!claim.subject || claim.verdict === "not-run") return [claim.verdict];
    const all = [claim, ...list(claim.variants)];
    const held = all.filter((one) => one.verdict === "reproduced").length;
    const name = held === all.length ? "reproduced" : held ? "mixed" : "not-reproduced";
    return [name, `holds for ${held} of ${all.length}`];
  }
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
  const counted = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

  // ---- Layout -----------------------------------------------------------------------------------
  /** Shows the rows of a table as cards if its columns do not fit. */
  function fitTables() {
    for (const box of tables) box.classList.remove("cards");
    const wide = tables.map((box) => box.scrollWidth > box.clientWidth + 1);
    tables.forEach((box, k) => box.classList.toggle("cards", wide[k]));
  }
  /** Reads all widths before drawing, so that the browser computes the layout only once. */
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
      fitTables();
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
