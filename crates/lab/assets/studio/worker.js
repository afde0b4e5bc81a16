// The Web Worker with the engine. First message: the bytes of the WebAssembly module. Others: { id, text } with a request;
// they are answered by { id, text, tookMs } or { id, failed }.
"use strict";
let engine = null;
let panic = "";
const bytes = (at, length) => new Uint8Array(engine.memory.buffer, at, length);

async function start(module) {
  const panicked = (at, length) => { panic = new TextDecoder().decode(bytes(at, length)); };
  const { instance } = await WebAssembly.instantiate(module, { forebay: { panicked } });
  engine = instance.exports;
}

function answer(text) {
  const request = new TextEncoder().encode(text);
  const at = engine.request(request.length); // may grow the memory: only then is its buffer read
  bytes(at, request.length).set(request);
  const length = engine.answer();
  return new TextDecoder().decode(bytes(engine.answered(), length));
}

let ready = null;
onmessage = async ({ data }) => {
  if (data.module) {
    ready = start(data.module);
    ready.catch((error) => postMessage({ unusable: String(error) }));
    return;
  }
  try {
    await ready;
  } catch (_) { // said already
    return;
  }
  try {
    const begun = performance.now();
    postMessage({ id: data.id, text: answer(data.text), tookMs: performance.now() - begun });
  } catch (error) {
    postMessage({ id: data.id, failed: panic || String(error) });
  }
};
