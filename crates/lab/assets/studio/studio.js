// Last of the files of the script of `forebay studio`: the page.
  // ---- Page -------------------------------------------------------------------------------------
  const DATA = JSON.parse(document.getElementById("forebay-data").textContent);
  const engine = DATA.token === null ? new LocalEngine() : new RemoteEngine(DATA.token);
  const element = (id) => document.getElementById(id);
  const state = { file: "", text: "", seed: 1, case: 0 };
  let shown = null; // the last answer without an error
  /** The experiment of the book that the address asks for: only its sliders and figures are shown. */
  const small = location.hash.startsWith("#f=") ? DATA.experiments.find((one) => one.name === location.hash.slice(3)) : undefined;

  // ---- Runs -------------------------------------------------------------------------------------
  // One request at a time. Changes that are made meanwhile are sent together in the next one.
  const changes = new Map(); // value by adjustable
  let isWanted = false, isRunning = false;
  function want(adjustable, value) {
    if (adjustable !== undefined) changes.set(adjustable, value);
    isWanted = true;
    if (!isRunning) pump();
  }
  async function pump() {
    isRunning = true;
    root.dataset.busy = "1";
    while (isWanted) {
      isWanted = false;
      const sent = { ...state, changes: [...changes].map(([adjustable, value]) => ({ adjustable, value })) };
      changes.clear();
      const late = setTimeout(() => { element("stop").hidden = false; say("running …"); }, 400);
      try {
        const answer = await engine.ask({ ask: "run", ...sent });
        if (answer.failed) throw new Error(answer.failed);
        // The text may have been edited, or another scenario opened, while this one ran.
        if (state.text === sent.text && state.file === sent.file) show(answer);
        else isWanted = true;
      } catch (error) {
        complain({ message: error.message });
      }
      clearTimeout(late);
      element("stop").hidden = true;
    }
    isRunning = false;
    root.dataset.busy = "0";
  }
  const say = (text) => { element("status").textContent = text; };

  function show(answer) {
    if (answer.text !== state.text) {
      state.text = answer.text;
      element("text").value = answer.text;
      numberLines();
    }
    remember();
    if (answer.adjustables.length) showAdjustables(answer);
    if (answer.error) {
      complain(answer.error);
      return;
    }
    complain(null);
    shown = answer;
    const packets = answer.runs.reduce((sum, run) => sum + run.packets, 0);
    const took = answer.tookMs >= 1000 ? `${format(answer.tookMs / 1000, 2)} s` : `${Math.round(answer.tookMs)} ms`;
    say(`${counted(answer.runs.length, "run")} of ${format(answer.duration_s)} s, ${format(packets, 3)} packets, in ${took}`);
    root.dataset.fingerprints = answer.runs.map((run) => run.fingerprint).join(" ");
    root.dataset.took = String(Math.round(answer.tookMs));
    element("title").textContent = answer.title;
    element("about").textContent = answer.about;
    element("answer").textContent = answer.results.answer.join(" ");
    showFigures(answer.results.figures);
    showTables(answer);
    player.reset({ labels: answer.runs.map((run) => run.label), duration: answer.duration_s, rate: packets / answer.runs.length / answer.duration_s });
    root.dataset.shown = String(Number(root.dataset.shown || 0) + 1);
  }

  // ---- Errors -----------------------------------------------------------------------------------
  /** Shows what is wrong; the results stay those of the last scenario without an error. */
  function complain(error) {
    const box = element("error");
    root.dataset.error = error ? error.message : "";
    box.hidden = !error;
    element("results").classList.toggle("stale", Boolean(error) && Boolean(shown));
    markLine(error ? error.line : null);
    if (!error) return;
    const jump = () => {
      const area = element("text"), lines = state.text.split("\n");
      const at = lines.slice(0, error.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
      area.focus();
      area.setSelectionRange(at, at + lines[error.line - 1].length);
      area.scrollTop = Math.max(0, (error.line - 4) * area.scrollHeight / lines.length);
    };
    box.replaceChildren(h("p", {}, error.message), error.line ? button(`Line ${error.line}`, "Go to the line in the scenario", jump) : "",
      shown ? h("p", { class: "quiet" }, "The figures are those of the last scenario that could run.") : "");
    say("");
  }

  // ---- The text ---------------------------------------------------------------------------------
  function numberLines() {
    const count = element("text").value.split("\n").length;
    if (element("lines").childElementCount === count) return;
    element("lines").replaceChildren(...Array.from({ length: count }, (_, n) => h("span", {}, n + 1)));
  }
  function markLine(line) {
    [...element("lines").children].forEach((one, n) => one.classList.toggle("wrong", n + 1 === line));
  }
  let typed = 0;
  function edited() {
    numberLines();
    clearTimeout(typed);
    typed = setTimeout(() => {
      if (element("text").value === state.text) return;
      state.text = element("text").value;
      changes.clear();
      want();
    }, 250);
  }

  // ---- Adjustables ------------------------------------------------------------------------------------
  const STEPS = 400; // positions of a slider
  /** Positions and values of a slider. */
  function rule({ low, high, log, step }) {
    if (!log) return { least: low, most: high, stride: step || (high - low) / STEPS, at: (v) => v, value: (p) => p };
    const slope = Math.log(high / low) / STEPS;
    return { least: 0, most: STEPS, stride: 1, at: (v) => Math.round(Math.log(Math.max(v, low) / low) / slope), value: (p) => low * Math.exp(p * slope) };
  }
  function sliderOf(adjustable, id) {
    const input = h("input", { type: "range", id });
    const text = h("output", { for: id });
    let now = adjustable, scale = rule(adjustable), position = 0;
    const set = (fresh) => {
      now = fresh;
      scale = rule(now);
      [input.min, input.max, input.step] = [scale.least, scale.most, scale.stride];
      position = scale.at(now.value);
      if (document.activeElement !== input || !input.dataset.moving) input.value = position;
      text.textContent = now.text;
      input.setAttribute("aria-valuetext", now.text);
    };
    input.addEventListener("input", () => {
      input.dataset.moving = "1";
      const moved = Number(input.value);
      let value = scale.value(moved);
      // A step of a slider over whole numbers changes the number.
      if (now.step && Math.round(value) === Math.round(now.value) && moved !== position) value = now.value + Math.sign(moved - position);
      position = moved;
      want(now.id, value);
    });
    input.addEventListener("change", () => { delete input.dataset.moving; });
    set(adjustable);
    return { nodes: [input, text], set };
  }
  function choiceOf(adjustable, id) {
    const select = h("select", { id, change: () => want(adjustable.id, select.value) });
    const set = (fresh) => {
      if (select.length !== fresh.among.length) select.replaceChildren(...fresh.among.map((word) => h("option", {}, word)));
      select.value = fresh.value;
    };
    set(adjustable);
    return { nodes: [select], set };
  }
  function severalOf(adjustable, id) {
    const summary = h("summary", { id }), boxes = h("div", { class: "boxes" });
    let now = adjustable;
    const set = (fresh) => {
      now = fresh;
      summary.textContent = `${fresh.label}: ${fresh.chosen.join(", ") || "none"}`;
      if (boxes.childElementCount !== fresh.among.length || [...boxes.children].some((box, n) => box.textContent !== fresh.among[n])) {
        boxes.replaceChildren(...fresh.among.map((word) => h("label", {}, h("input", { type: "checkbox", value: word, change: (event) => flip(word, event.currentTarget.checked) }), word)));
      }
      [...boxes.querySelectorAll("input")].forEach((box) => { box.checked = fresh.chosen.includes(box.value); });
    };
    const flip = (word, on) => {
      const chosen = now.chosen.filter((one) => one !== word);
      if (on) chosen.push(word);
      if (!chosen.length) { set(now); return; } // at least one
      now = { ...now, chosen };
      want(adjustable.id, chosen);
    };
    set(adjustable);
    return { nodes: [h("details", {}, summary, boxes)], set, isWide: true };
  }
  const CONTROLS = { slider: sliderOf, choice: choiceOf, several: severalOf };
  let adjustables = { shape: "", controls: new Map() };
  /** The values that the page shows; in an experiment those of its sliders. */
  function shownAdjustables(all) {
    if (!small) return all;
    return small.sliders.map(({ id, range: [low, high] }) => ({ one: all.find((it) => it.id === id), low, high }))
      .filter(({ one }) => one).map(({ one, low, high }) => ({ ...one, low, high, log: high / low > 8, more: false }));
  }
  function showAdjustables(answer) {
    const all = shownAdjustables(answer.adjustables);
    const shape = all.map((adjustable) => [adjustable.id, adjustable.group, adjustable.control, adjustable.more].join("\t")).join("\n") + `\n${answer.cases.length}`;
    if (shape !== adjustables.shape) buildAdjustables({ ...answer, adjustables: all }, shape);
    for (const adjustable of all) adjustables.controls.get(adjustable.id).set(adjustable);
    const cases = element("case");
    if (cases) cases.selectedIndex = answer.case;
  }
  function buildAdjustables({ adjustables: all, cases, case: at }, shape) {
    const focus = document.activeElement && document.activeElement.id;
    const open = new Set([...element("adjustables").querySelectorAll("details[open] > summary")].map((one) => one.dataset.of || one.id));
    const controls = new Map(), groups = new Map(), hidden = new Map();
    for (const [n, adjustable] of all.entries()) {
      const id = `adjustable-${slug(adjustable.id)}`, built = CONTROLS[adjustable.control](adjustable, id);
      controls.set(adjustable.id, built);
      const row = h("div", { class: built.isWide ? "adjustable wide" : "adjustable", title: adjustable.doc || null }, built.isWide ? "" : h("label", { for: id }, adjustable.label), built.nodes);
      const into = adjustable.more ? hidden : groups;
      for (const map of [groups, hidden]) if (!map.has(adjustable.group)) map.set(adjustable.group, []);
      into.get(adjustable.group).push(row);
    }
    const more = (name) => {
      const rows = hidden.get(name);
      return rows.length ? h("details", { class: "more" }, h("summary", { "data-of": name }, `${rows.length} more`), rows) : "";
    };
    const varied = cases.length > 1
      ? [h("fieldset", {}, h("legend", {}, "Values that vary"), h("div", { class: "adjustable" }, h("label", { for: "case" }, "Shown"),
        h("select", { id: "case", change: (event) => { state.case = event.currentTarget.selectedIndex; want(); } }, cases.map((text) => h("option", {}, text)))))] : [];
    element("adjustables").replaceChildren(...varied, ...[...groups].map(([name, rows]) => h("fieldset", {}, h("legend", {}, name), rows, more(name))));
    element("adjustables").querySelectorAll("summary").forEach((one) => { one.parentElement.open = open.has(one.dataset.of || one.id); });
    adjustables = { shape, controls };
    if (focus && element(focus)) element(focus).focus();
  }

  // ---- Results ----------------------------------------------------------------------------------
  let frame = 0;
  const due = new Map(); // figure by chart
  const BUDGET_MS = 7; // of a picture of the screen, for drawing
  function showFigures(all) {
    const figures = small ? all.filter((fig) => small.figures.some((title) => fig.title.startsWith(title))) : all;
    const ids = figures.map((fig) => fig.id).join("\n");
    if (charts.map((chart) => chart.fig.id).join("\n") !== ids || charts.some((chart) => !chart.box.isConnected)) {
      charts.length = 0;
      element("figures").replaceChildren(...figures.map(buildFigure));
      drawAll();
      root.dataset.charts = String(charts.length);
      return;
    }
    charts.forEach((chart, n) => due.set(chart, figures[n]));
    if (!frame) frame = requestAnimationFrame(drawDue);
  }
  /** Draws the figures that are due, those on the screen first, and leaves the rest to the next pictures. */
  function drawDue() {
    const begun = performance.now();
    const isSeen = (chart) => { const box = chart.plot.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; };
    const order = [...due.keys()].map((chart) => [isSeen(chart), chart]).sort((a, b) => b[0] - a[0]);
    for (const [, chart] of order) {
      const fig = due.get(chart);
      due.delete(chart);
      guard(chart.box, `The figure "${fig.title}"`, () => chart.update(fig));
      if (performance.now() - begun > BUDGET_MS) break;
    }
    frame = due.size ? requestAnimationFrame(drawDue) : 0;
    moveTime(player.time);
  }
  /** Marks the time of the animation in the figures against time. */
  function moveTime(time) {
    for (const chart of charts) if (chart.xAxis.label === "time") chart.mark(player.playing || player.data ? time : null);
  }
  const significant = (value, digits = 3) => (Number.isFinite(value) ? format(value, digits) : "");
  function theoryTable({ theory, runs }) {
    const columns = [["discipline", ""], ["queue, simulated", "packets"], ["queue, model", "packets"], ["p, model", ""], ["stable", ""],
      ["phase margin", "°"], ["gain margin", ""], ["delay margin", "ms"]];
    const rows = list(theory.contenders).map(({ label, stability: loop, none }, n) => [label, significant(runs[n] && runs[n].queue_pkts),
      ...(loop ? [significant(loop.q_rest_pkts), significant(loop.p_rest), loop.stable ? "yes" : "no",
        significant(loop.phase_margin_deg), significant(loop.gain_margin), significant(loop.delay_margin_ms)] : [none, "", "", "", "", ""])]);
    const left = list(theory.left_out);
    const caption = theory.none ? `The model has no answer: ${theory.none}.`
      : `Linearised control loop of TCP and the discipline (docs/theory.md).${left.length ? ` The model leaves out: ${left.join("; ")}.` : ""}`;
    return { id: "theory", title: "Theory", caption, columns: columns.map(([name, unit], n) => ({ name, unit, numeric: n > 0 })), rows };
  }
  function showTables(answer) {
    tables.length = 0;
    const theory = theoryTable(answer);
    const said = theory.rows.length ? buildTable(theory) : h("div", { class: "table-block" }, h("h3", {}, theory.title), h("p", { class: "note" }, theory.caption));
    const isAsked = !small || small.figures.includes("Theory");
    element("tables").replaceChildren(...(small ? [] : answer.results.tables.map(buildTable)), isAsked ? said : "");
    fitTables();
  }

  // ---- Scenarios, link, files -------------------------------------------------------------------
  let written = "";
  let later = 0;
  function remember() {
    clearTimeout(later);
    later = setTimeout(async () => {
      written = await toFragment(state);
      if (small) element("whole").href = written;
      else history.replaceState(null, "", written);
    }, 200);
  }
  function open(scenario) {
    Object.assign(state, { file: scenario.file, text: scenario.text, seed: scenario.seed || 1, case: scenario.case || 0 });
    element("text").value = state.text;
    element("seed").value = state.seed;
    changes.clear();
    numberLines();
    const offered = DATA.scenarios.find((one) => one.file === scenario.file && one.report);
    element("report").hidden = !offered;
    if (offered) element("report").href = offered.report.split("/").map(encodeURIComponent).join("/");
    player.pause();
    player.time = 0;
    player.hasSpeed = false;
    want();
  }
  function chooser() {
    const groups = new Map();
    DATA.scenarios.forEach((one, n) => groups.set(one.group, [...(groups.get(one.group) || []), h("option", { value: n }, one.title)]));
    const select = element("scenario");
    select.replaceChildren(h("option", { value: "" }, "Open a scenario …"), ...[...groups].map(([name, options]) => h("optgroup", { label: name }, options)));
    select.addEventListener("change", () => { if (select.value !== "") open(DATA.scenarios[Number(select.value)]); select.value = ""; });
  }
  async function openFile() {
    const [file] = element("file").files;
    element("file").value = ""; // the same file can be chosen again
    if (file && file.size > LARGEST_TEXT) complain({ message: `${file.name} is larger than 1 MiB.` });
    else if (file) open({ file: file.name, text: await file.text() });
  }
  async function share() {
    clearTimeout(later);
    history.replaceState(null, "", await toFragment(state));
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is in the clipboard.");
    } catch (_) { // no clipboard for this page: the link is in the address bar
      say("The link is in the address bar.");
    }
  }
  async function save() {
    say("running all cases for the files …");
    try {
      const { files, failed } = await engine.ask({ ask: "files", run: { ...state, changes: [] }, runs: 1 });
      if (failed) throw new Error(failed);
      const name = state.file.replace(/^.*\//, "").replace(/\.toml$/, "") || "scenario";
      const blob = await zip(files.map(([path, content]) => [`${name}/${path}`, fromBase64(content)]));
      root.dataset.saved = String(files.length);
      downloadBlob(`${name}.zip`, blob);
      say(`${counted(files.length, "file")} in ${name}.zip`);
    } catch (error) {
      complain({ message: `The files cannot be made: ${error.message}` });
    }
  }
  /** The scenario in the address, `#s=`, or the path of an offered one, `#o=`; null if there is none. */
  async function fromAddress() {
    try {
      if (location.hash.startsWith("#o=")) {
        const file = decodeURIComponent(location.hash.slice(3));
        return DATA.scenarios.find((one) => one.file === file) || { failed: `There is no scenario ${file} here.` };
      }
      return await fromFragment(location.hash);
    } catch (error) {
      return { failed: `The address has no valid scenario: ${error.message}.` };
    }
  }

  const player = new Player({
    moved: moveTime,
    load: async (contender, from_s, until_s) => {
      const events = await engine.ask({ ask: "packets", run: { ...state, changes: [] }, contender, from_s, until_s });
      if (events.failed) throw new Error(events.failed);
      return events;
    },
  });

  // For scripts: the answer of the engine to a request.
  globalThis.forebay = { ask: (request) => engine.ask(request) };

  guard(element("main"), "The page", () => {
    element("player").append(player.box);
    chooser();
    document.body.append(tip);
    element("text").addEventListener("input", edited);
    element("text").addEventListener("scroll", () => { element("lines").scrollTop = element("text").scrollTop; });
    element("seed").addEventListener("change", () => { state.seed = Math.max(0, Math.floor(Number(element("seed").value)) || 1); want(); });
    element("choose").addEventListener("click", () => element("file").click());
    element("file").addEventListener("change", openFile);
    element("share").addEventListener("click", share);
    element("save").addEventListener("click", save);
    element("stop").addEventListener("click", () => engine.stop());
    followResize();
    const first = small || DATA.scenarios[0];
    root.classList.toggle("small", Boolean(small));
    element("whole").hidden = !small;
    fromAddress().then((given) => {
      open(given && !given.failed ? given : first);
      if (given && given.failed) complain({ message: given.failed });
    });
    addEventListener("hashchange", async () => {
      if (location.hash === written) return;
      const given = await fromAddress();
      if (given && given.failed) complain({ message: given.failed });
      else if (given) open(given);
    });
  });
})();
