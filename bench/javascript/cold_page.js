// A cold page of node.mjs: reads the files, and waits to be told what to measure, once.

import { coldDigest, coldOpening } from './cold.js';

/** @param {string} name */
const bytes = async (name) => new Uint8Array(await (await fetch(`data/${name}`)).arrayBuffer());
const files = /** @type {[Uint8Array, Uint8Array]} */ (await Promise.all(['slm2.wasm', 'artifact'].map(bytes)));

/** @type {any} */ (globalThis).cold = (/** @type {'opening' | 'digest'} */ what) => (what === 'digest' ? coldDigest : coldOpening)(...files);
