// Fourth of the files of the script of `forebay studio`: the two engines behind one interface, and files.
  // ---- Engines ----------------------------------------------------------------------------------
  function fromBase64(text) {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let k = 0; k < letters.length; k += 1) bytes[k] = letters.charCodeAt(k); // the callback of `from` takes 100 ms
    return bytes;
  }
  const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();

  const stopped = () => new DOMException("stopped", "AbortError");

  /** The engine in a Web Worker. */
  class LocalEngine {
    constructor() {
      this.waiting = new Map(); // resolve and reject by id of a request
      this.last = 0;
      this.stops = 0;
      this.module = this.load();
      this.start();
    }
    /** The WebAssembly module: in the page, or next to it. */
    async load() {
      const own = document.getElementById("engine");
      if (own) return through(fromBase64(own.textContent.trim()), new DecompressionStream("gzip"));
      const answer = await fetch("engine.wasm.gz");
      if (!answer.ok) throw new Error(`engine.wasm.gz: ${answer.status} ${answer.statusText}`);
      const packed = await answer.arrayBuffer(), [one, two] = new Uint8Array(packed, 0, 2);
      // If the server sends it with `Content-Encoding: gzip`, the browser has decompressed it already.
      return one === 0x1f && two === 0x8b ? through(packed, new DecompressionStream("gzip")) : packed;
    }
    start() {
      const script = document.getElementById("worker").textContent;
      const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      const worker = this.worker = new Worker(address);
      URL.revokeObjectURL(address);
      worker.onmessage = ({ data }) => {
        if (data.unusable !== undefined) {
          this.broken = new Error(`The simulator cannot start: ${data.unusable}`);
          this.fail(this.broken);
        } else if (data.failed !== undefined) {
          this.restart(); // a module that has trapped is not used again
          this.fail(new Error(data.failed));
        } else if (this.waiting.has(data.id)) {
          const [resolve] = this.waiting.get(data.id);
          this.waiting.delete(data.id);
          resolve(data);
        }
      };
      worker.onerror = (event) => this.fail(new Error(event.message || "the worker has failed"));
      // Files that scenarios refer to have the id 0, whose answers nobody awaits.
      const files = DATA.files.map(([path, text]) => ({ id: 0, text: JSON.stringify({ ask: "file", path, text }) }));
      const begin = (module) => [{ module }, ...files].forEach((message) => worker.postMessage(message));
      this.module.then(begin, (error) => this.fail(error));
    }
    restart() {
      this.worker.terminate();
      this.start();
    }
    /** Ends all requests. */
    stop() {
      this.stops += 1;
      this.restart();
      this.fail(stopped());
    }
    fail(error) {
      const waiting = [...this.waiting.values()];
      this.waiting.clear();
      waiting.forEach(([, reject]) => reject(error));
    }
    async ask(request) {
      const { stops } = this;
      await this.module;
      if (stops !== this.stops) throw stopped();
      if (this.broken) throw this.broken;
      const id = ++this.last;
      const { text, tookMs } = await new Promise((resolve, reject) => {
        this.waiting.set(id, [resolve, reject]);
        this.worker.postMessage({ id, text: JSON.stringify(request) });
      });
      return { ...JSON.parse(text), tookMs };
    }
  }

  /** The engine in the program `forebay studio`. */
  class RemoteEngine {
    constructor(token) {
      this.token = token;
      this.page = String(crypto.getRandomValues(new Uint32Array(1))[0]); // the server stops only the runs of this page
      this.abort = new AbortController();
    }
    stop() {
      this.abort.abort(stopped());
      this.abort = new AbortController();
      this.send({ ask: "stop" }).catch(() => {}); // the server may have ended
    }
    send(request) {
      return fetch("ask", {
        method: "POST", body: JSON.stringify(request), signal: this.abort.signal,
        headers: { "content-type": "application/json", "x-forebay-token": this.token, "x-forebay-page": this.page },
      });
    }
    async ask(request) {
      const begun = performance.now();
      const answer = await this.send(request).catch((error) => {
        if (error.name === "AbortError") throw error;
        throw new Error("The program forebay studio does not answer; it may have ended.");
      });
      if (!answer.ok) throw new Error(`forebay studio answers: ${answer.status} ${await answer.text()}`);
      return { ...await answer.json(), tookMs: performance.now() - begun };
    }
  }

  // ---- Address bar ------------------------------------------------------------------------------
  // The fragment is `s=` and the state as JSON, compressed, in base64 with the letters that addresses may have.
  async function toFragment(state) {
    const packed = new Uint8Array(await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw")));
    let text = "";
    for (const byte of packed) text += String.fromCharCode(byte);
    return `#s=${btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")}`;
  }
  const LARGEST_TEXT = 1 << 20;
  /** The state in a fragment; null if there is none. */
  async function fromFragment(fragment) {
    if (!fragment.startsWith("#s=")) return null;
    const packed = fromBase64(fragment.slice(3).replace(/-/g, "+").replace(/_/g, "/"));
    const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const parts = [];
    let size = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      size += part.value.length;
      if (size > LARGEST_TEXT) throw new Error("the scenario in the address is larger than 1 MiB");
      parts.push(part.value);
    }
    const state = JSON.parse(await new Blob(parts).text());
    const whole = (value, usual) => (Number.isSafeInteger(value) && value >= 0 ? value : usual);
    if (typeof state !== "object" || state === null || typeof state.text !== "string") throw new Error("it has no scenario");
    return { file: String(state.file || "scenario.toml").slice(0, 200), text: state.text, seed: whole(state.seed, 1), case: whole(state.case, 0) };
  }

  // ---- ZIP --------------------------------------------------------------------------------------
  const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
    for (let k = 0; k < 8; k += 1) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n;
  });
  const crc32 = (bytes) => ~bytes.reduce((sum, byte) => CRC[(sum ^ byte) & 255] ^ (sum >>> 8), -1) >>> 0;
  /** A ZIP file (APPNOTE 6.3.10) of [name, bytes] pairs. */
  async function zip(files) {
    const DEFLATE = 8, UTF8 = 0x800, DAY = 0x21; // 1 January 1980: the same files give the same bytes
    const parts = [], directory = [];
    let at = 0;
    const add = (part) => { parts.push(part); at += part.length; };
    const fields = (...all) => { // pairs of value and size in bytes, little-endian
      const out = [];
      for (const [value, size] of all) for (let k = 0; k < size; k += 1) out.push(Math.floor(value / 256 ** k) & 255);
      return Uint8Array.from(out);
    };
    for (const [name, content] of files) {
      const title = new TextEncoder().encode(name);
      const packed = new Uint8Array(await through(content, new CompressionStream("deflate-raw")));
      const common = [[20, 2], [UTF8, 2], [DEFLATE, 2], [0, 2], [DAY, 2], [crc32(content), 4], [packed.length, 4], [content.length, 4], [title.length, 2], [0, 2]];
      directory.push(fields([0x02014b50, 4], [20, 2], ...common, [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]), title);
      add(fields([0x04034b50, 4], ...common));
      add(title);
      add(packed);
    }
    const begin = at;
    directory.forEach(add);
    add(fields([0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [at - begin, 4], [begin, 4], [0, 2]));
    return new Blob(parts, { type: "application/zip" });
  }

