// Files of the package, under Node.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Slm2Error } from './errors.js';

/**
 * The bytes of a file.
 * @param {URL | string} source `file:` address or path, or an address to fetch
 * @returns {Promise<Uint8Array>}
 */
export async function readBytes(source) {
  const address = String(source);
  try {
    if (/^https?:/.test(address)) return new Uint8Array(await fetched(address));
    return new Uint8Array(await readFile(address.startsWith('file:') ? fileURLToPath(address) : address));
  } catch (error) {
    throw new Slm2Error('file_unreadable', { path: address, reason: error instanceof Error ? error.message : String(error) });
  }
}

/**
 * The compiled module of a file.
 * @param {URL | string} source
 * @returns {Promise<WebAssembly.Module>}
 */
export async function compileModule(source) {
  return WebAssembly.compile(/** @type {BufferSource} */ (await readBytes(source)));
}

/** @param {string} address */
async function fetched(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.arrayBuffer();
}
