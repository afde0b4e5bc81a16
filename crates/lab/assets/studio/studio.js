// Last of the files of the script of `forebay studio`: the page.
  // ---- Page -------------------------------------------------------------------------------------
  const DATA = JSON.parse(document.getElementById("forebay-data").textContent);
  const engine = DATA.token === null ? new LocalEngine() : new RemoteEngine(DATA.token);
  const element = (id) => document.getElementById(id);
  const state = { file: "", text: "", seed: 1, case: 0 };
  let shown = null; // the last answer without an error
  let shownRun = null; // its file, text, seed and case
  /** The experiment of the book that the address asks for: only its sliders and figures are shown. */
  const small = location.hash.startsWith("#f=") ? DATA.experiments.find((one) => one.name === location.hash.slice(3)) : undefined;

  // ---- Runs -------------------------------------------------------------------------------------
  // One request at a time. Changes that are made meanwhile are sent together in the next one.
  const changes = new Map(); // value by adjustable
  let isWanted = false, isRunning = false, opened = 0;
  const waiters = []; // functions to call once nothing is left to run
  function want(adjustable, value) {
    takeTyped();
    if (adjustable !== undefined) changes.set(adjustable, value);
    isWanted = true;
    if (!isRunning) pump();
  }
  /** A promise that resolves once nothing is left to run. */
  function idle() {
    if (takeTyped()) want();
    return isRunning ? new Promise((resolve) => { waiters.push(resolve); }) : Promise.resolve();
  }
  const running = new Set(); // what can be stopped: "run", "files"
  function showStop(what, on) {
    if (on) running.add(what);
    else running.delete(what);
    if (!running.size && document.activeElement === element("stop")) element("scenario").focus();
    element("stop").style.visibility = running.size ? "visible" : "hidden";
  }
  async function pump() {
    isRunning = true;
    root.dataset.busy = "1";
    while (isWanted) {
      isWanted = false;
      const sent = { ...state }, sentChanges = new Map(changes), sentOpened = opened;
      changes.clear();
      const late = setTimeout(() => { showStop("run", true); say("running …"); }, 400);
      try {
        const answer = await engine.ask({ ask: "run", ...sent, changes: [...sentChanges].map(([adjustable, value]) => ({ adjustable, value })) });
        if (answer.failed) throw new Error(answer.failed);
        if (sentChanges.size) takeTyped(); // then the changes apply to what was typed
        if (opened !== sentOpened) isWanted = true;
        else if (state.text === sent.text) show(answer, sent, sentChanges.size > 0);
        else { // the text was edited meanwhile: the changes apply to the new one
          for (const [id, value] of sentChanges) if (!changes.has(id)) changes.set(id, value);
          isWanted = true;
        }
      } catch (error) {
        if (error.name === "AbortError") {
          changes.clear();
          isWanted = false;
          complain({ message: "Stopped." });
        } else complain({ message: error.message });
        resetControls();
      }
      clearTimeout(late);
      showStop("run", false);
    }
    isRunning = false;
    root.dataset.busy = "0";
    waiters.splice(0).forEach((resolve) => resolve());
  }
  const say = (text) => { element("status").textContent = text; announce(); };
  let spoken = 0;
  /** Tells a screen reader the state, once, a second after the last change. */
  function announce() {
    clearTimeout(spoken);
    spoken = setTimeout(() => { element("announce").textContent = `${element("status").textContent}. ${element("answer").textContent}`; }, 1000);
  }

  function show(answer, sent, hasChanges) {
    if (answer.error) {
      // The text stays as it was: every slider changes the text, and an invalid text cannot be changed.
      complain(answer.error);
      if (hasChanges) resetControls();
      else if (answer.adjustables.length) showAdjustables(answer);
      return;
    }
    if (answer.text !== state.text) {
      // If the text is being edited, the editor keeps what was typed.
      if (element("text").value === state.text) element("text").value = answer.text;
      state.text = answer.text;
      numberLines();
    }
    remember();
    complain(null);
    shown = answer;
    shownRun = { ...sent, text: answer.text };
    showAdjustables(answer);
    const packets = answer.runs.reduce((sum, run) => sum + run.packets, 0);
    const took = answer.tookMs >= 1000 ? `${format(answer.tookMs / 1000, 2)} s` : `${Math.round(answer.tookMs)} ms`;
    root.dataset.fingerprints = answer.runs.map((run) => run.fingerprint).join(" ");
    root.dataset.took = String(Math.round(answer.tookMs));
    element("title").textContent = answer.title;
    document.title = `${answer.title} · Forebay studio`;
    element("about").textContent = answer.about;
    element("answer").textContent = answer.results.answer.join(" ");
    element("model").textContent = modelLine(answer);
    say(`${counted(answer.runs.length, "run")} of ${format(answer.duration_s)} s, ${format(packets, 3)} packets, in ${took}`);
    showFigures(answer);
    if (!root.dataset.shown) performance.mark("figures");
    player.reset({ labels: answer.runs.map((run) => run.label), duration: answer.duration_s, rate: packets / answer.runs.length / answer.duration_s });
    root.dataset.shown = String(Number(root.dataset.shown || 0) + 1);
  }

  // ---- Messages ---------------------------------------------------------------------------------
  /** Shows why the scenario cannot run; the results stay those of the last one that could. */
  function complain(error) {
    const box = element("error");
    root.dataset.error = error ? error.message : "";
    box.hidden = !error;
    element("results").classList.toggle("stale", Boolean(error) && Boolean(shown));
    element("text").setAttribute("aria-invalid", String(Boolean(error && error.line)));
    markLine(error ? error.line : null);
    if (!error) return;
    const jump = () => {
      const area = element("text"), lines = state.text.split("\n"), line = Math.min(error.line, lines.length);
      const begin = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
      const column = clamp((error.column || 1) - 1, 0, lines[line - 1].length);
      area.focus();
      area.setSelectionRange(begin + column, begin + lines[line - 1].length);
      area.scrollTop = Math.max(0, (line - 4) * area.scrollHeight / lines.length);
    };
    box.replaceChildren(h("p", {}, error.message), error.line && !small ? button(`Line ${error.line}`, "Go to the line in the scenario", jump) : "",
      shown ? h("p", { class: "quiet" }, "The figures are those of the last scenario that could run.") : "");
    say("");
  }
  /** Shows an error that is not in the scenario, until the next action. */
  function notice(message) {
    root.dataset.notice = message || "";
    element("notice").hidden = !message;
    element("notice").textContent = message || "";
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
  /** Takes over the text in the editor. Returns whether it differs. */
  function takeTyped() {
    clearTimeout(typed);
    if (element("text").value === state.text) return false;
    state.text = element("text").value;
    return true;
  }
  function edited() {
    numberLines();
    clearTimeout(typed);
    typed = setTimeout(() => { if (takeTyped()) want(); }, 250);
  }

  // ---- Adjustables ------------------------------------------------------------------------------------
  const STEPS = 400; // positions of a slider
  /** Positions and values of a slider. */
  function rule({ low, high, log, step }) {
    if (!log) return { least: low, most: high, stride: step || (high - low) / STEPS, at: (v) => v, value: (p) => p };
    const slope = Math.log(high / low) / STEPS;
    return { least: 0, most: STEPS, stride: 1, at: (v) => Math.round(Math.log(Math.max(v, low) / low) / slope), value: (p) => low * Math.exp(p * slope) };
  }
  const UNITS = { rate: [[1e9, "gbit"], [1e6, "mbit"], [1e3, "kbit"], [1, "bit"]], time: [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]], packets: [[1, "p"]], bytes: [[1, "b"]] };
  /** A value as text. It is shown until the engine answers with the text in the scenario. */
  function inUnits(value, { unit, step }) {
    if (step) return `${Math.round(value)}${unit === "packets" ? "p" : ""}`;
    const [size, name] = (UNITS[unit] || [[1, ""]]).find(([least], n, all) => value >= least || n === all.length - 1);
    return `${Number((value / size).toPrecision(3))}${name}`;
  }
  function sliderOf(adjustable, id) {
    const input = h("input", { type: "range", id });
    const text = h("output", { for: id });
    let now = adjustable, scale = rule(adjustable), position = 0, isMoving = false;
    const tell = (words) => { text.textContent = words; input.setAttribute("aria-valuetext", words); };
    const set = (fresh) => {
      now = isMoving ? { ...fresh, low: now.low, high: now.high } : fresh; // the scale does not change under the pointer
      tell(now.text);
      if (isMoving) return;
      scale = rule(now);
      [input.min, input.max, input.step] = [scale.least, scale.most, scale.stride];
      position = scale.at(now.value);
      input.value = position;
    };
    input.addEventListener("input", () => {
      isMoving = true;
      const moved = Number(input.value);
      let value = scale.value(moved);
      // A step of a slider over whole numbers changes the number.
      if (now.step && Math.round(value) === Math.round(now.value) && moved !== position) value = now.value + Math.sign(moved - position);
      position = moved;
      now = { ...now, value };
      tell(inUnits(value, now));
      want(now.id, value);
    });
    input.addEventListener("change", () => {
      isMoving = false;
      if (!isRunning) resetControls(); // the value may have been refused
    });
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
        boxes.replaceChildren(...fresh.among.map((word) => h("label", {}, h("input", { type: "checkbox", id: `${id}-${slug(word)}`, value: word, change: (event) => flip(word, event.currentTarget.checked) }), word)));
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
  let adjustables = { shape: "", controls: new Map(), groups: [], last: null };
  /** The values that the page shows; in an experiment those of its sliders. */
  function shownAdjustables(all) {
    if (!small) return all;
    return small.sliders.map(({ id, range: [low, high] }) => ({ one: all.find((it) => it.id === id), low, high }))
      .filter(({ one }) => one).map(({ one, low, high }) => ({ ...one, low, high, log: high / low > 8, more: false }));
  }
  /** The groups of adjustable values: heading and values. The heading may change; the id of the first value identifies it. */
  function grouped(all) {
    const groups = new Map();
    for (const one of all) groups.set(one.group, [...(groups.get(one.group) || []), one]);
    return [...groups].map(([name, values]) => ({ name, values, key: values[0].id }));
  }
  function showAdjustables(answer) {
    const all = shownAdjustables(answer.adjustables), groups = grouped(all);
    const shape = groups.map(({ values }) => values.map((one) => `${one.id} ${one.control}`).sort().join("\t")).join("\n") + `\n${answer.cases.join("\n")}`;
    adjustables.last = answer;
    if (shape !== adjustables.shape) buildAdjustables(groups, answer.cases, shape);
    groups.forEach(({ name }, n) => { adjustables.legends[n].textContent = name; });
    for (const one of all) if (!changes.has(one.id)) adjustables.controls.get(one.id).set(one);
    const cases = element("case");
    if (cases) cases.selectedIndex = answer.case;
  }
  /** Sets the controls to the values of the scenario. */
  function resetControls() {
    if (adjustables.last) showAdjustables(adjustables.last);
  }
  function buildAdjustables(groups, cases, shape) {
    const focus = document.activeElement && document.activeElement.id;
    const open = new Set([...element("adjustables").querySelectorAll("details[open] > summary")].map((one) => one.dataset.of || one.id));
    const controls = new Map(), legends = [];
    const row = (one) => {
      const id = `adjustable-${slug(one.id)}`, built = CONTROLS[one.control](one, id);
      controls.set(one.id, built);
      const field = h("div", { class: built.isWide ? "adjustable wide" : "adjustable", title: one.doc || null }, built.isWide ? "" : h("label", { for: id }, one.label), built.nodes);
      if (one.doc) built.nodes[0].setAttribute("aria-description", one.doc);
      return field;
    };
    const box = ({ values, key }) => {
      const legend = h("legend", {}), rare = values.filter((one) => one.more).map(row);
      legends.push(legend);
      return h("fieldset", {}, legend, values.filter((one) => !one.more).map(row),
        rare.length ? h("details", { class: "more" }, h("summary", { "data-of": key, id: `more-${slug(key)}` }, `${rare.length} more`), rare) : "");
    };
    const varied = cases.length > 1
      ? [h("fieldset", {}, h("legend", {}, "Values that vary"), h("div", { class: "adjustable" }, h("label", { for: "case" }, "Case"),
        h("select", { id: "case", change: (event) => { state.case = event.currentTarget.selectedIndex; want(); } }, cases.map((text) => h("option", {}, text)))))] : [];
    element("adjustables").replaceChildren(...varied, ...groups.map(box));
    element("adjustables").querySelectorAll("summary").forEach((one) => { one.parentElement.open = open.has(one.dataset.of || one.id); });
    Object.assign(adjustables, { shape, controls, legends });
    if (focus && element(focus)) element(focus).focus();
  }

  // ---- Results ----------------------------------------------------------------------------------
  let frame = 0;
  const due = new Map(); // figure by chart
  let dueTables = null; // an answer whose tables are not shown yet
  const BUDGET_MS = 7; // for drawing, per frame of the screen
  function showFigures(answer) {
    const all = answer.results.figures.map((fig) => withModel(fig, answer));
    const figures = small ? all.filter((fig) => small.figures.some((title) => fig.title.startsWith(title))) : all;
    const ids = figures.map((fig) => fig.id).join("\n");
    dueTables = answer;
    if (charts.map((chart) => chart.fig.id).join("\n") !== ids || charts.some((chart) => !chart.plot.isConnected)) {
      charts.length = 0;
      due.clear();
      cancelAnimationFrame(frame);
      frame = 0;
      element("figures").replaceChildren(...figures.map(buildFigure));
      drawAll();
      root.dataset.charts = String(charts.length);
      showTables();
      return;
    }
    charts.forEach((chart, n) => due.set(chart, figures[n]));
    if (!frame) frame = requestAnimationFrame(drawDue);
  }
  /** Draws the figures that are due, those on the screen first, then the tables; what takes too long is left to the next frames. */
  function drawDue() {
    const begun = performance.now(), isLate = () => performance.now() - begun > BUDGET_MS;
    const isSeen = (chart) => { const box = chart.plot.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; };
    const order = [...due.keys()].map((chart) => [isSeen(chart), chart]).sort((a, b) => b[0] - a[0]);
    for (const [, chart] of order) {
      const fig = due.get(chart);
      due.delete(chart);
      guard(chart.box, `The figure "${fig.title}"`, () => chart.update(fig));
      if (isLate()) break;
    }
    if (!due.size && !isLate()) showTables();
    frame = due.size || dueTables ? requestAnimationFrame(drawDue) : 0;
    moveTime(player.time);
  }
  /** Marks the time of the animation in the figures against time. */
  function moveTime(time) {
    for (const chart of charts) if (chart.xAxis.label === "time") chart.mark(player.playing || player.data ? time : null);
  }
  const significant = (value, digits = 3) => (Number.isFinite(value) ? format(value, digits) : "");
  const modelled = (answer) => list(answer.theory.contenders).filter(({ stability }) => stability && Number.isFinite(stability.q_rest_pkts));
  /** Adds the queue that the model predicts to the figure of the queue. */
  function withModel(fig, answer) {
    const models = modelled(answer);
    if (!fig.title.startsWith("Queue against time") || !models.length || models.length > 3) return fig;
    const rules = models.map(({ label, stability }) => ({ axis: "y", at: stability.q_rest_pkts, label: models.length > 1 ? `model ${label.split(" ")[0]}` : "model" }));
    return { ...fig, rules: [...list(fig.rules), ...rules] };
  }
  /** The answer of the model in one line. */
  function modelLine(answer) {
    const simulated = new Map(answer.runs.map((run) => [run.label, run.queue_pkts]));
    return modelled(answer).slice(0, 3).map(({ label, stability: loop }) =>
      `Model of ${label}: ${loop.stable ? `stable, phase margin ${significant(loop.phase_margin_deg, 2)}°` : "unstable"}, queue ${significant(loop.q_rest_pkts)} packets; simulated ${significant(simulated.get(label))}.`).join(" ");
  }
  function theoryTable({ theory, runs }) {
    const columns = [["discipline", ""], ["queue, simulated", "packets"], ["queue, model", "packets"], ["p, model", ""], ["stable", ""],
      ["phase margin", "°"], ["gain margin", ""], ["delay margin", "ms"]];
    const rows = list(theory.contenders).map(({ label, stability: loop, none }, n) => [label, significant(runs[n] && runs[n].queue_pkts),
      ...(loop ? [significant(loop.q_rest_pkts), significant(loop.p_rest), loop.stable ? "yes" : "no",
        significant(loop.phase_margin_deg), significant(loop.gain_margin), significant(loop.delay_margin_ms)] : [none, "", "", "", "", ""])]);
    const left = list(theory.left_out);
    const caption = theory.none ? `${theory.none}.`
      : `Linearised control loop of TCP and the discipline (docs/theory.md).${left.length ? ` The model leaves out: ${left.join("; ")}.` : ""}`;
    return { id: "theory", title: "Theory", caption, columns: columns.map(([name, unit], n) => ({ name, unit, numeric: n > 0 })), rows };
  }
  let shownTables = "";
  function showTables() {
    const answer = dueTables;
    if (!answer) return;
    dueTables = null;
    const theory = theoryTable(answer), known = JSON.stringify([answer.results.tables, theory]);
    if (known === shownTables) return;
    shownTables = known;
    tables.length = 0;
    const said = theory.rows.length ? buildTable(theory) : h("div", { class: "table-block" }, h("h3", {}, theory.title), h("p", { class: "note" }, theory.caption));
    const isAsked = !small || small.figures.includes("Theory");
    element("tables").replaceChildren(...(small ? [] : answer.results.tables.map(buildTable)), isAsked ? said : "");
    fitTables();
  }

  // ---- Scenarios, link, files -------------------------------------------------------------------
  // The address has the scenario. Each change gets an entry in the history; changes in quick succession share one.
  const TOGETHER_MS = 1500;
  let writtenAt = 0, later = 0, keepsAddress = false, isFromAddress = false;
  function remember() {
    clearTimeout(later);
    later = setTimeout(async () => {
      const fragment = await toFragment(state);
      if (small) element("whole").href = fragment;
      else if (keepsAddress) keepsAddress = false; // the user may want to correct the address
      else if (fragment !== location.hash) {
        const isNew = !isFromAddress && location.hash.startsWith("#s=") && performance.now() - writtenAt > TOGETHER_MS;
        if (isNew) history.pushState(null, "", fragment);
        else history.replaceState(null, "", fragment);
        writtenAt = performance.now();
      }
      isFromAddress = false;
    }, 200);
  }
  function open(scenario) {
    opened += 1;
    element("text").value = scenario.text;
    Object.assign(state, { file: scenario.file, text: element("text").value, seed: scenario.seed ?? 1, case: scenario.case ?? 0 });
    element("seed").value = state.seed;
    changes.clear();
    numberLines();
    const same = DATA.scenarios.findIndex((one) => one === scenario || (one.file === scenario.file && one.text === scenario.text));
    const at = same < 0 ? DATA.scenarios.findIndex((one) => one.file === scenario.file) : same;
    element("scenario").value = at < 0 ? "" : String(at);
    const offered = DATA.scenarios.find((one) => one.file === scenario.file && one.report);
    element("report").hidden = !offered;
    if (offered) element("report").href = offered.report.split("/").map(encodeURIComponent).join("/");
    player.rewind();
    want();
  }
  function chooser() {
    const groups = new Map();
    DATA.scenarios.forEach((one, n) => groups.set(one.group, [...(groups.get(one.group) || []), h("option", { value: n }, one.title)]));
    const select = element("scenario");
    select.replaceChildren(h("option", { value: "", hidden: "" }, "Own scenario"), ...[...groups].map(([name, options]) => h("optgroup", { label: name }, options)));
    select.addEventListener("change", () => {
      notice("");
      if (select.value !== "") open(DATA.scenarios[Number(select.value)]);
    });
  }
  async function openFile() {
    const [file] = element("file").files;
    if (!file) return;
    notice(file.size > LARGEST_TEXT ? `${file.name} is larger than 1 MiB.` : "");
    try {
      if (file.size <= LARGEST_TEXT) open({ file: file.name, text: await file.text() });
    } catch (error) {
      notice(`${file.name} cannot be read: ${error.message}`);
    }
    element("file").value = ""; // the same file can be chosen again
  }
  function changeSeed() {
    const given = Number(element("seed").value);
    state.seed = clamp(Math.floor(given) || 0, 0, Number.MAX_SAFE_INTEGER);
    element("seed").value = state.seed;
    want();
  }
  /** Copies the address of the page with the scenario. With `forebay studio`, whose address changes at each start, it copies a command. */
  async function share() {
    await idle();
    const fragment = await toFragment(state);
    history.replaceState(null, "", fragment);
    const [what, text] = DATA.token === null ? ["link", location.href.replace(/#.*$/, "") + fragment] : ["command", `forebay studio '${fragment}'`];
    root.dataset.copied = text;
    try {
      await navigator.clipboard.writeText(text);
      notice("");
      say(`The ${what} is in the clipboard.`);
    } catch (_) { // no clipboard for this page
      if (DATA.token === null) say("The link is in the address bar.");
      else notice(`Copy this command: ${text}`);
    }
  }
  async function save() {
    if (element("save").getAttribute("aria-disabled")) return;
    element("save").setAttribute("aria-disabled", "true");
    await idle();
    say("running all cases for the files …");
    showStop("files", true);
    try {
      const { files, failed } = await engine.ask({ ask: "files", run: { ...state, changes: [] }, runs: 1 });
      if (failed) throw new Error(failed);
      const name = slug(state.file.replace(/^.*[/\\]/, "").replace(/\.toml$/, "")).replace(/^[.-]+/, "") || "scenario";
      const blob = await zip(files.map(([path, content]) => [`${name}/${path}`, fromBase64(content)]));
      root.dataset.saved = String(files.length);
      downloadBlob(`${name}.zip`, blob);
      notice("");
      say(`${counted(files.length, "file")} in ${name}.zip`);
    } catch (error) {
      if (error.name === "AbortError") say("stopped");
      else {
        say("");
        notice(`The page cannot make the files: ${error.message}`);
      }
    }
    showStop("files", false);
    element("save").removeAttribute("aria-disabled");
  }
  /** The scenario in the address, `#s=`, or the path of an offered one, `#o=`; null if there is none. */
  async function fromAddress() {
    try {
      if (location.hash.startsWith("#o=")) {
        const file = decodeURIComponent(location.hash.slice(3));
        const named = DATA.scenarios.filter((one) => one.file === file);
        return named.find((one) => one.report) || named[0] || { failed: `There is no scenario ${file} here.` };
      }
      return await fromFragment(location.hash);
    } catch (error) {
      return { failed: `The address has no valid scenario: ${error.message}.` };
    }
  }

  const player = new Player({
    moved: moveTime,
    load: async (contender, from_s, until_s) => {
      const events = await engine.ask({ ask: "packets", run: { ...shownRun, changes: [] }, contender, from_s, until_s });
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
    element("seed").addEventListener("change", changeSeed);
    element("choose").addEventListener("click", () => element("file").click());
    element("file").addEventListener("change", openFile);
    element("share").addEventListener("click", share);
    element("save").addEventListener("click", save);
    element("stop").addEventListener("click", () => engine.stop());
    showStop("run", false);
    followResize();
    addEventListener("resize", () => player.draw());
    const first = small || DATA.scenarios[0];
    root.classList.toggle("small", Boolean(small));
    element("whole").hidden = !small;
    const follow = async () => {
      const given = await fromAddress();
      notice(given && given.failed);
      return given && !given.failed ? given : null;
    };
    follow().then((given) => {
      keepsAddress = Boolean(root.dataset.notice);
      open(given || first);
      isFromAddress = Boolean(given);
    });
    addEventListener("hashchange", async () => {
      const given = await follow();
      if (!given) return;
      open(given);
      isFromAddress = true; // the same scenario can be encoded in several ways: no new entry for it
    });
  });
})();
