// Files of the package, in a browser.

import { Slm2Error } from './errors.js';

/**
 * The bytes of a file.
 * @param {URL | string} source its address
 * @returns {Promise<Uint8Array>}
 */
export async function readBytes(source) {
  const response = await fetched(source);
  return new Uint8Array(await response.arrayBuffer());
}

/**
 * The compiled module of a file: compiled while it comes, where the server says that it is one.
 * @param {URL | string} source its address
 * @returns {Promise<WebAssembly.Module>}
 */
export async function compileModule(source) {
  const response = await fetched(source);
  if (response.headers.get('content-type') === 'application/wasm') return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** @param {URL | string} source */
async function fetched(source) {
  const path = String(source);
  let reason;
  try {
    const response = await fetch(path);
    if (response.ok) return response;
    reason = `status ${response.status}`;
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  throw new Slm2Error('file_unreadable', { path, reason });
}
