// One process of node.mjs: opens, or digests, once. `node cold_node.mjs opening|digest WASM ARTIFACT`; ms as JSON.

import { readFile } from 'node:fs/promises';
import { coldDigest, coldOpening } from './cold.js';

const [, , what, wasm, artifact] = process.argv;
const bytes = await Promise.all([wasm, artifact].map((path) => readFile(String(path))));
console.log(JSON.stringify(await (what === 'digest' ? coldDigest : coldOpening)(.../** @type {[Uint8Array, Uint8Array]} */ (bytes))));
