// Fifth of the files of the script of `forebay studio`: the animation of the packets in a queue.
  // ---- Play -------------------------------------------------------------------------------------
  const AHEAD = 0.5; // the next events are loaded when this part of the loaded time is left
  const TRAVEL_S = 0.5; // how long a departure is shown, in seconds on the screen; an arrival takes half as long
  const FEW = 80; // up to this rate, in packets per second on the screen, arrivals are shown on their way
  const [ARRIVES, DEPARTS, MARKED, DROPPED, LOST] = ["a", "d", "m", "x", "l"];
  /** Packets that arrive, wait, depart, are marked and dropped, at an adjustable speed. */
  class Player {
    /** `load(contender, from, until)` returns a promise of events; `moved(time)` is called for each picture. */
    constructor({ load, moved }) {
      Object.assign(this, { load, moved, playing: false, time: 0, duration: 0, contender: 0, speed: 0.02, hasSpeed: false });
      // `data` has the events that are shown, `next` those that follow, `wanted` the begin of those to load.
      Object.assign(this, { data: null, next: null, wanted: null, isLoading: false, generation: 0, waiting: [], flying: [], at: 0 });
      this.canvas = h("canvas", { class: "queue", role: "img", "aria-label": "Packets in the queue", hidden: "" });
      this.said = h("p", { class: "quiet said" });
      this.toggle = button("Play", "Show packets moving through the queue", () => (this.playing ? this.pause() : this.play()));
      this.place = h("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": "Time of the animation", input: () => this.seek(this.place.value / 1000 * this.duration) });
      this.pace = h("input", { type: "range", min: -4, max: 1, step: 0.05, "aria-label": "Speed of the animation", input: () => this.setSpeed(10 ** this.pace.value) });
      this.paceText = h("output", {});
      this.which = h("select", { "aria-label": "Discipline of the animation", change: () => { this.contender = this.which.selectedIndex; this.seek(this.time); } });
      this.legend = h("div", { class: "legend" });
      this.box = h("section", { class: "player", "aria-labelledby": "player-title" },
        h("div", { class: "figure-head" }, h("h2", { id: "player-title" }, "The queue"), h("div", { class: "tools" }, this.which)),
        h("div", { class: "bar" }, this.toggle, h("label", {}, "time ", this.place), h("label", {}, "speed ", this.pace), this.paceText),
        this.canvas, this.said, this.legend);
      this.setSpeed(this.speed);
      this.frame = (now) => this.tick(now);
    }
    setSpeed(speed) {
      this.speed = speed;
      this.pace.value = Math.log10(speed);
      this.paceText.textContent = `${Number(speed.toPrecision(2))} × real time`;
      this.pace.setAttribute("aria-valuetext", this.paceText.textContent);
    }
    setTime(time) {
      this.time = clamp(time, 0, this.duration);
      this.place.value = this.duration > 0 ? this.time / this.duration * 1000 : 0;
      this.place.setAttribute("aria-valuetext", `${format(this.time, 5)} s of ${format(this.duration)} s`);
      this.moved(this.time);
    }
    /** Goes back to the beginning, for another scenario. */
    rewind() {
      this.pause();
      this.forget();
      this.contender = 0;
      this.hasSpeed = false;
      this.duration = this.time = 0;
    }
    forget() {
      this.generation += 1;
      Object.assign(this, { data: null, next: null, wanted: null });
    }
    /** Takes over a new simulation. */
    reset({ labels, duration, rate }) {
      const kept = labels.indexOf(this.which.value);
      this.duration = duration;
      // If the label is gone, because one of its parameters changed, the place in the list stays selected.
      if (kept >= 0) this.contender = kept;
      this.contender = clamp(this.contender, 0, labels.length - 1);
      this.which.replaceChildren(...labels.map((label) => h("option", {}, label)));
      this.which.selectedIndex = this.contender;
      if (!this.hasSpeed && rate > 0) this.setSpeed(clamp(20 / rate, 1e-4, 1)); // about 20 packets a second
      this.hasSpeed = this.hasSpeed || rate > 0;
      this.rate = rate;
      this.forget();
      this.setTime(this.time);
      if (this.playing) this.fetch(this.time);
      else this.draw();
    }
    play() {
      this.playing = true;
      this.toggle.textContent = "Pause";
      this.said.textContent = "";
      if (this.time >= this.duration) {
        this.forget();
        this.setTime(0);
      }
      this.before = null;
      if (!this.data) this.fetch(this.time);
      requestAnimationFrame(this.frame);
    }
    pause() {
      this.playing = false;
      this.toggle.textContent = "Play";
      this.canvas.setAttribute("aria-label", this.data ? this.caption() : "Packets in the queue");
    }
    seek(time) {
      this.forget();
      this.setTime(time);
      this.fetch(this.time);
    }
    /** Loads the events from `time` on. One request at a time; only the latest time is kept. */
    fetch(time) {
      this.wanted = time;
      if (!this.isLoading) this.loadNext();
    }
    async loadNext() {
      this.isLoading = true;
      while (this.wanted !== null) {
        const { wanted: from, generation } = this, span = clamp(6000 / Math.max(1, this.rate || 1000), 0.05, 10);
        this.wanted = null;
        try {
          const loaded = await this.load(this.contender, from, Math.min(this.duration, from + span));
          if (generation === this.generation) this.take(from, loaded);
        } catch (error) {
          if (generation !== this.generation) continue;
          this.pause();
          this.draw();
          this.said.textContent = error.name === "AbortError" ? "" : `The packets cannot be shown: ${error.message}`;
        }
      }
      this.isLoading = false;
    }
    take(from, loaded) {
      loaded.from_s = from;
      if (this.data) { // the same events may have been asked for twice
        if (from >= this.data.until_s) this.next = loaded;
        return;
      }
      this.flying = [];
      this.show(loaded);
      this.showFlows(loaded.flows);
      this.draw();
    }
    show(loaded) {
      Object.assign(this, { data: loaded, waiting: loaded.waiting, at: 0, next: null });
    }
    /** Each flow has a colour, or each group of flows if there are more flows than colours. */
    showFlows(flows) {
      const group = (name) => (flows.length > COLOURS ? name.replace(/\/\d+$/, "") : name);
      const groups = [...new Set(flows.map(group))];
      this.colours = flows.map((name) => `c${groups.indexOf(group(name)) % COLOURS}`);
      this.legend.replaceChildren(...groups.map((name, k) => h("span", { class: `key c${k % COLOURS}` }, h("span", { class: "dot" }), name)),
        h("span", { class: "key" }, "ring: marked (CE)"), h("span", { class: "key" }, "cross: dropped"));
    }
    tick(now) {
      if (!this.playing) return;
      const passed = this.before === null ? 0 : Math.min(0.1, (now - this.before) / 1000);
      this.before = now;
      if (this.data) {
        this.advance(Math.min(this.time + passed * this.speed, this.data.until_s), now);
        this.follow();
        if (this.time >= this.duration) this.pause();
      }
      this.draw(now);
      requestAnimationFrame(this.frame);
    }
    advance(time, now) {
      const { events } = this.data;
      while (this.at < events.length && events[this.at][0] <= time) {
        const event = events[this.at], [, what, flow, number] = event;
        this.at += 1;
        if (what === ARRIVES) {
          if (this.speed * this.rate < FEW) event.begun = now;
          this.waiting.push(event);
          continue;
        }
        const place = this.waiting.findIndex((one) => one[2] === flow && one[3] === number);
        if (place >= 0) this.waiting.splice(place, 1);
        this.flying.push({ what, flow, place: Math.max(0, place), begun: now });
        if (this.flying.length > 400) this.flying.shift();
      }
      this.setTime(time);
    }
    /** Loads the following events in time, and goes on to them. */
    follow() {
      const { until_s, from_s } = this.data;
      if (until_s >= this.duration) return;
      if (!this.next && !this.isLoading && until_s - this.time < AHEAD * (until_s - from_s)) this.fetch(until_s);
      if (this.time >= until_s && this.next) this.show(this.next);
    }
    caption() {
      const { room_pkts: room } = this.data;
      return `${format(this.time, 5)} s: ${this.waiting.length}${room ? ` of ${room}` : ""} packets wait`;
    }
    draw(now = performance.now()) {
      const { canvas } = this, ratio = devicePixelRatio || 1;
      canvas.hidden = !this.data && !this.playing;
      if (canvas.hidden) return;
      const width = canvas.clientWidth || 600, height = 150;
      if (canvas.width !== Math.round(width * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      const pen = canvas.getContext("2d"), look = getComputedStyle(root);
      const colour = (name) => look.getPropertyValue(`--${name}`).trim();
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, width, height);
      const left = 66, right = width - 100, inner = right - left;
      // The box is as large as the buffer, unless packets would be too small to see.
      const room = this.data && this.data.room_pkts <= 600 ? this.data.room_pkts || 0 : 0;
      const size = clamp(Math.sqrt(inner * 96 / Math.max(1, room, this.waiting.length)) - 2, 2, 14);
      const rows = Math.max(1, Math.floor(96 / (size + 2)));
      const spot = (k) => [right - (Math.floor(k / rows) + 1) * (size + 2), 10 + (k % rows) * (size + 2)];
      pen.fillStyle = colour("muted");
      pen.font = `12px ${FONT}`;
      pen.fillText("arrivals →", 0, 124);
      pen.fillText("→ link", width - 42, 124);
      pen.strokeStyle = colour("line");
      pen.strokeRect(left, 6, inner + 2, 104);
      if (!this.data) {
        pen.fillText("loading …", left + 12, 62);
        return;
      }
      this.waiting.forEach(({ 2: flow, begun }, k) => {
        const [x, y] = spot(k), part = begun === undefined ? 1 : Math.min(1, (now - begun) / (TRAVEL_S * 500));
        if (x < left) return;
        pen.fillStyle = colour(this.colours[flow]);
        pen.fillRect(part * x, y * part + 58 * (1 - part), size, size);
      });
      this.flying = this.flying.filter((one) => now - one.begun < TRAVEL_S * 1000);
      for (const one of this.flying) {
        const part = (now - one.begun) / (TRAVEL_S * 1000);
        const [x, y] = spot(one.place);
        const dropped = one.what === DROPPED || one.what === LOST;
        const box = clamp(size, 4, dropped ? 8 : 5);
        const [px, py] = dropped ? [x, y + part * (height - y)] : [right + 4 + part * (width - right - box - 6), 54];
        pen.globalAlpha = dropped ? 1 - part / 2 : 1;
        pen.fillStyle = pen.strokeStyle = colour(this.colours[one.flow]);
        pen.fillRect(px, py, box, box);
        if (one.what === MARKED) pen.strokeRect(px - 3, py - 3, box + 6, box + 6);
        if (dropped) {
          pen.strokeStyle = colour("ink");
          pen.lineWidth = 2;
          pen.beginPath();
          pen.moveTo(px - 2, py - 2); pen.lineTo(px + box + 2, py + box + 2); pen.moveTo(px + box + 2, py - 2); pen.lineTo(px - 2, py + box + 2);
          pen.stroke();
          pen.lineWidth = 1;
        }
        pen.globalAlpha = 1;
      }
      pen.fillStyle = colour("ink");
      pen.fillText(this.caption(), left, 140);
    }
  }

