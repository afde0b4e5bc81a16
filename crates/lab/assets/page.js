// Last file of the script of a report: claims, sections, and the page itself.
  // ---- Claims -----------------------------------------------------------------------------------
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
      data.command ? commandBox("Repeat this report", data.command) : "",
      data.scenario ? changeIt("") : "",
      data.scenario ? h("details", { class: "scenario" }, h("summary", {}, h("h3", {}, "Scenario with all defaults")), h("pre", {}, data.scenario)) : "");
  }
  /** Notice that packets were real, and whether their timing was valid. */
  function realNotice(real) {
    return h("div", { class: real.valid ? "real" : "real invalid", role: real.valid ? null : "alert" },
      h("p", {}, badge(real.valid ? "reproduced" : "not-reproduced", real.title)), list(real.text).map((line) => h("p", {}, line)));
  }
  /** The way from this report to the page of `forebay studio` with the scenario in `folder`, a path relative to the report: a
   * link if `forebay studio` serves the report, else the command. */
  function changeIt(folder) {
    const inside = folder ? `/${folder}` : "";
    const served = location.pathname.match(/^\/report\/([0-9a-f]+)\/(.+)\/report\.html$/);
    if (served) {
      const file = `runs/${decodeURIComponent(served[2])}${inside}/scenario.toml`;
      return h("p", {}, h("a", { href: `/?token=${served[1]}#o=${encodeURIComponent(file)}` }, "Change it"), " with sliders.");
    }
    const here = location.protocol === "file:" ? decodeURIComponent(location.pathname).replace(/\/[^/]*$/, "") : ".";
    const place = `${here}${inside}`;
    const command = `forebay studio ${/^[\w./-]+$/.test(place) ? place : `'${place.replaceAll("'", "'\\''")}'`}`;
    const box = commandBox("This command opens a page where sliders change the scenario", command);
    return h("details", { class: "change", open: folder ? null : "" }, h("summary", {}, "Change it"), box);
  }
  function commandBox(label, command) {
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
    return h("div", { class: "command" }, h("p", { class: "label" }, label),
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
      section.folder ? changeIt(section.folder) : "",
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
