// Fifth of the files of the script of `forebay studio`: the animation of the packets in a queue.
  // ---- Play -------------------------------------------------------------------------------------
  const AHEAD = 0.35; // part of the loaded events that is left when the next ones are loaded
  const TRAVEL_S = 0.7; // seconds of the viewer that a packet takes to the queue and away from it
  const [ARRIVES, DEPARTS, MARKED, DROPPED, LOST] = ["a", "d", "m", "x", "l"];
  /** Packets that arrive, wait, depart, are marked and dropped, at an adjustable speed. */
  class Player {
    /** `load(contender, from, until)` returns a promise of events; `moved(time)` is called for each picture. */
    constructor({ load, moved }) {
      Object.assign(this, { load, moved, playing: false, time: 0, duration: 0, contender: 0, speed: 0.02, generation: 0 });
      this.canvas = h("canvas", { class: "queue", role: "img", "aria-label": "Packets in the queue" });
      this.said = h("p", { class: "quiet said", role: "status" });
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
    /** Takes over a new simulation. */
    reset({ labels, duration, rate }) {
      const kept = this.which.value;
      this.duration = duration;
      this.which.replaceChildren(...labels.map((label) => h("option", {}, label)));
      this.contender = Math.max(0, labels.indexOf(kept));
      this.which.selectedIndex = this.contender;
      if (!this.hasSpeed && rate > 0) this.setSpeed(clamp(25 / rate, 1e-4, 1)); // about 25 packets a second
      this.hasSpeed = this.hasSpeed || rate > 0;
      this.rate = rate;
      this.generation += 1;
      this.data = null;
      if (this.playing) this.fetch();
      else this.draw();
    }
    play() {
      this.playing = true;
      this.toggle.textContent = "Pause";
      if (this.time >= this.duration) this.time = 0;
      this.before = null;
      if (!this.data) this.fetch();
      requestAnimationFrame(this.frame);
    }
    pause() {
      this.playing = false;
      this.toggle.textContent = "Play";
    }
    seek(time) {
      this.time = clamp(time, 0, this.duration);
      this.generation += 1;
      this.fetch();
      this.moved(this.time);
    }
    /** Loads the events from the present time on. */
    async fetch() {
      const { generation, time } = this;
      this.data = null;
      const loaded = await this.events(time);
      if (!loaded || generation !== this.generation) return;
      this.flying = [];
      this.waiting = loaded.waiting;
      this.data = loaded;
      this.at = 0;
      this.next = null;
      this.showFlows(loaded.flows);
      this.draw();
    }
    events(from) {
      const span = clamp(6000 / Math.max(1, this.rate || 1000), 0.05, 10);
      return this.load(this.contender, from, Math.min(this.duration, from + span)).catch((error) => {
        this.said.textContent = `The packets cannot be shown: ${error.message}`;
        return null;
      });
    }
    showFlows(flows) {
      const groups = [...new Set(flows)];
      this.colours = flows.map((name) => `c${groups.indexOf(name) % COLOURS}`);
      this.legend.replaceChildren(...groups.map((name, k) => h("span", { class: `key c${k % COLOURS}` }, h("span", { class: "dot" }), name)),
        h("span", { class: "key" }, "ring: marked (CE)"), h("span", { class: "key" }, "falling: dropped"));
    }
    tick(now) {
      if (!this.playing) return;
      const passed = this.before === null ? 0 : Math.min(0.1, (now - this.before) / 1000);
      this.before = now;
      if (this.data) {
        this.advance(Math.min(this.time + passed * this.speed, this.data.until_s), now);
        this.place.value = this.time / this.duration * 1000;
        this.moved(this.time);
        this.prefetch();
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
          this.waiting.push(event);
          continue;
        }
        const place = this.waiting.findIndex((one) => one[2] === flow && one[3] === number);
        if (place >= 0) this.waiting.splice(place, 1);
        this.flying.push({ what, flow, place: Math.max(0, place), begun: now });
        if (this.flying.length > 400) this.flying.shift();
      }
      this.time = time;
    }
    async prefetch() {
      const { data, generation } = this;
      if (data.until_s >= this.duration) return;
      const left = data.until_s - this.time;
      if (!this.next && left < AHEAD * (data.until_s - (data.events[0] || [0])[0])) this.next = this.events(data.until_s);
      if (left > 0 || !this.next) return;
      const next = this.next;
      this.next = null;
      this.data = { ...data, events: [] }; // nothing happens until the next events are here
      const loaded = await next;
      if (!loaded || generation !== this.generation) return;
      this.data = loaded;
      this.at = 0;
    }
    draw(now = performance.now()) {
      const { canvas } = this, ratio = devicePixelRatio || 1;
      const width = canvas.clientWidth || 600, height = 170;
      if (canvas.width !== Math.round(width * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      const pen = canvas.getContext("2d"), look = getComputedStyle(root);
      const colour = (name) => look.getPropertyValue(`--${name}`).trim();
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, width, height);
      const right = width - 70, room = right - 60;
      const size = clamp(Math.sqrt(room * 96 / Math.max(1, this.waiting ? this.waiting.length : 1)) - 2, 2, 14);
      const rows = Math.max(1, Math.floor(96 / (size + 2)));
      const spot = (k) => [right - (Math.floor(k / rows) + 1) * (size + 2), 20 + (k % rows) * (size + 2)];
      pen.fillStyle = colour("muted");
      pen.font = `12px ${FONT}`;
      pen.fillText("arrivals →", 0, 72);
      pen.fillText("→ link", width - 42, 72);
      pen.strokeStyle = colour("line");
      pen.strokeRect(right - room, 16, room + 2, 104);
      if (!this.data) {
        pen.fillText(this.playing ? "loading packets …" : "Play shows the packets in this queue.", right - room + 12, 72);
        return;
      }
      (this.waiting || []).forEach(([, , flow], k) => {
        const [x, y] = spot(k);
        if (x < right - room) return;
        pen.fillStyle = colour(this.colours[flow]);
        pen.fillRect(x, y, size, size);
      });
      this.flying = (this.flying || []).filter((one) => now - one.begun < TRAVEL_S * 1000);
      for (const one of this.flying) {
        const part = (now - one.begun) / (TRAVEL_S * 1000);
        const [x, y] = spot(one.place);
        const dropped = one.what === DROPPED || one.what === LOST;
        const [px, py] = dropped ? [x, y + part * (height - y)] : [right + part * 60, 62];
        pen.globalAlpha = dropped ? 1 - part : 1 - part / 2;
        pen.fillStyle = pen.strokeStyle = colour(this.colours[one.flow]);
        const box = Math.max(6, size);
        pen.fillRect(px, py, box, box);
        if (one.what === MARKED) pen.strokeRect(px - 3, py - 3, box + 6, box + 6);
        if (dropped) {
          pen.strokeStyle = colour("bad");
          pen.beginPath();
          pen.moveTo(px, py); pen.lineTo(px + box, py + box); pen.moveTo(px + box, py); pen.lineTo(px, py + box);
          pen.stroke();
        }
        pen.globalAlpha = 1;
      }
      pen.fillStyle = colour("ink");
      pen.fillText(`${format(this.time, 5)} s: ${this.waiting.length} packets wait`, right - room, 138);
    }
  }

