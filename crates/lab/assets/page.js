// Last of three files of one script (base, chart, page): claims, sections, and the page itself.
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

  // ---- Claims -----------------------------------------------------------------------------------
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

  const headRow = (names) => h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name))));

  function checksTable(checks) {
    if (!checks.length) return h("p", { class: "quiet" }, "No checks recorded.");
    const columns = [["outcome", (c) => outcome(c.outcome)], ["quantity", (c) => orDash(c.what)],
      ["measured", (c) => orDash(c.value)], ["interval", (c) => orDash(c.interval)], ["required", (c) => orDash(c.bound)],
      ["by", (c) => orDash(c.by) + (c.added ? ", added" : "") + (c.superseded ? ", superseded" : "")]];
    const row = (c) => h("tr", {}, columns.map(([name, content]) => h("td", { "data-label": name }, content(c))));
    return h("table", { class: "checks stacking" }, headRow(columns.map(([name]) => name)), h("tbody", {}, checks.map(row)));
  }
  /** The deciding check: the first one that does not hold, else the first. */
  function evidence(claim) {
    const checks = list(claim.checks);
    if (!checks.length) return h("p", { class: "quiet" }, claim.note || "No checks recorded.");
    const decide = checks.filter((c) => !c.added);
    const lead = decide.find((c) => c.outcome !== "holds") || decide[0] || checks[0];
    const held = checks.filter((c) => c.outcome === "holds").length;
    return [h("p", { class: "what" }, (claim.subject ? `${claim.subject}: ` : "") + orDash(lead.what)),
      h("p", {}, h("strong", {}, orDash(lead.value)), lead.interval ? ` (${lead.interval})` : "",
        lead.bound ? [h("span", { class: "quiet" }, " required "), lead.bound] : ""),
      checks.length > 1 && !claim.subject ? h("p", { class: "quiet" }, `checks held: ${claim.counts || `${held} of ${checks.length}`}`) : ""];
  }
  const counted = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  function claimDetails(claim, sections) {
    const variants = list(claim.variants), checks = list(claim.checks);
    if (!checks.length && !variants.length && !claim.printed && !claim.note) return null;
    const section = sections.find((one) => one.id === claim.section);
    const shown = list(claim.shown).map((one) => [" · ", h("a", { href: `#${one.kind}-${slug(one.id)}` }, one.id)]);
    const summary = counted(checks.length, "check") + (variants.length ? `, ${counted(variants.length, "variant")}` : "");
    return h("details", {}, h("summary", {}, summary),
      claim.sentence ? h("blockquote", {}, claim.sentence) : "",
      claim.printed ? h("p", {}, h("span", { class: "quiet" }, "In the paper: "), claim.printed) : "",
      checksTable(checks), paragraphs(claim.note),
      variants.map((v) => h("div", { class: "variant" },
        h("h4", {}, "Variant ", h("code", {}, v.name), badge(v.verdict)), checksTable(list(v.checks)))),
      section ? h("p", {}, h("a", { href: `#section-${slug(section.id)}` }, `Figures: ${section.title}`), shown) : "");
  }
  function claimRows(claim, sections) {
    const id = `claim-${slug(claim.id)}`;
    const details = claimDetails(claim, sections);
    return h("tbody", { id, class: "claim" },
      h("tr", {},
        h("th", { scope: "row" }, h("a", { href: `#${id}` }, claim.id)),
        h("td", {}, claim.claim),
        h("td", {}, badge(...verdictOn(claim)), claim.provisional ? h("span", { class: "provisional" }, "provisional") : "",
          claim.grade && !claim.subject ? h("span", { class: "provisional" }, `grade: ${claim.grade.replaceAll("-", " ")}`) : ""),
        h("td", { class: "evidence" }, evidence(claim),
          claim.reason && claim.reason !== claim.why ? h("p", { class: "why" }, h("span", { class: "quiet" }, "Grade: "), claim.reason) : "",
          claim.why ? h("p", { class: "why" }, h("span", { class: "quiet" }, "Why: "), claim.why) : "")),
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
    const claims = list(data.claims);
    document.getElementById("top").append(
      data.real ? realNotice(data.real) : "",
      list(data.answer).length ? h("p", { class: "answer" }, list(data.answer).join(" ")) : "",
      data.subtitle ? h("p", { class: "subtitle" }, data.subtitle) : "",
      // With several disciplines a claim has several verdicts: a table has their numbers.
      claims.length && !list(data.tables).some((table) => table.id === "summary") ? verdictSummary(claims) : "");
  }
  /** Parameters, machine and command, after the results. */
  function buildOrigin(data) {
    const facts = list(data.facts);
    return h("section", { id: "origin" }, h("h2", {}, "Parameters and machine"),
      facts.length ? h("dl", { class: "facts" }, facts.map(([name, fact]) => h("div", {}, h("dt", {}, name), h("dd", {}, fact)))) : "",
      data.command ? commandBox(data.command) : "",
      data.scenario ? h("details", { class: "scenario" }, h("summary", {}, h("h3", {}, "Scenario with all defaults")), h("pre", {}, data.scenario)) : "");
  }
  /** Shows the rows of a table as cards if its columns do not fit. */
  function fitTables() {
    for (const box of tables) box.classList.remove("cards");
    const wide = tables.map((box) => box.scrollWidth > box.clientWidth + 1);
    tables.forEach((box, k) => box.classList.toggle("cards", wide[k]));
  }
  /** Notice that packets were real, and whether their timing was valid. */
  function realNotice(real) {
    return h("div", { class: real.valid ? "real" : "real invalid", role: real.valid ? null : "alert" },
      h("p", {}, badge(real.valid ? "reproduced" : "not-reproduced", real.title)), list(real.text).map((line) => h("p", {}, line)));
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
    const links = claimLinks(tested.map((c) => c.id));
    return h("section", { id: `section-${slug(section.id)}` }, h("h2", {}, section.title || section.id),
      tested.length ? h("p", { class: "tested" }, "Claims tested here:", links) : "", paragraphs(section.text),
      section.page ? h("p", {}, h("a", { href: section.page }, "All results of this section")) : "",
      list(section.figures).map((id) => part("figures", id, buildFigure)),
      list(section.tables).map((id) => part("tables", id, buildTable)));
  }
  /** Shows figures and tables that no section lists. */
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
    claimsById = new Map(list(data.claims).map((claim) => [claim.id, claim]));
    buildHeader(data);
    const sections = [...list(data.sections), ...leftovers(data)];
    const isFirst = (section) => section.id === "summary";
    sections.filter(isFirst).forEach((section) => main.append(buildSection(section, data)));
    if (list(data.claims).length) main.append(buildClaims(data.claims, list(data.sections)));
    for (const section of sections.filter((one) => !isFirst(one))) main.append(buildSection(section, data));
    if (list(data.facts).length || data.command || data.scenario) main.append(buildOrigin(data));
    buildContents(main);
    fitTables();
    const maker = data.version ? `Made with ${data.version}. ` : "";
    document.getElementById("foot").append(maker, "This page is self-contained and loads nothing.");
    document.body.append(tip);
    root.dataset.charts = String(drawAll());
    followResize();
    openForPrint();
    addEventListener("hashchange", openTarget);
    openTarget();
  });
  root.dataset.charts = root.dataset.charts || "0";
})();
