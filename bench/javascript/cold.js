// Measured once in a page or process that is new each time, in Node and in a browser alike: from bytes at hand to the first id.

import { Core } from '../../bindings/js/src/core.js';
import { load } from '../../bindings/js/src/index.js';

/** @typedef {{compile: number, open: number, first: number, all: number, again: number}} Opening ms; `again`: all of it a second time */

/**
 * Compiling, opening (SHA-256 and every check), the first call.
 * @param {Uint8Array} wasm
 * @param {Uint8Array} artifact
 * @returns {Promise<Opening>}
 */
export async function coldOpening(wasm, artifact) {
  const cold = await once(wasm, artifact);
  return { ...cold, again: (await once(wasm, artifact)).all };
}

/** @param {Uint8Array} wasm @param {Uint8Array} artifact */
async function once(wasm, artifact) {
  const started = performance.now();
  const module = await WebAssembly.compile(/** @type {BufferSource} */ (wasm));
  const compiled = performance.now();
  const slm2 = await load({ wasm: module, artifact });
  const opened = performance.now();
  slm2.tokenizer.encode('Hello');
  const done = performance.now();
  slm2.dispose();
  return { compile: compiled - started, open: opened - compiled, first: done - opened, all: done - started };
}

/**
 * SHA-256 of the artifact alone, as cold, in ms.
 * @param {Uint8Array} wasm
 * @param {Uint8Array} artifact
 */
export async function coldDigest(wasm, artifact) {
  const { exports } = await WebAssembly.instantiate(await WebAssembly.compile(/** @type {BufferSource} */ (wasm)), {});
  const core = new Core(/** @type {any} */ (exports), /** @type {WebAssembly.Memory} */ (exports.memory), false);
  const { address } = core.put(artifact, 'artifact');
  const digest = core.reserve('digest', 32).address;
  const started = performance.now();
  core.run('sha256', address, artifact.length, digest);
  return performance.now() - started;
}
