// What a caller's text may be, and its bytes.

import { refuseType } from './errors.js';

/** @typedef {string | ArrayBuffer | ArrayBufferView} Text strings with unpaired surrogates count as with U+FFFD there (T-2); bytes as they are */

const encoder = new TextEncoder();
// A text may begin with U+FEFF, and what is no UTF-8 is an error of the library, never U+FFFD.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * @param {unknown} value
 * @returns {value is ArrayBuffer | ArrayBufferView}
 */
export function isBytes(value) {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer || (typeof SharedArrayBuffer !== 'undefined' && value instanceof SharedArrayBuffer);
}

/**
 * The bytes that a text stands for; not copied where it is bytes.
 * @param {Text} text
 * @param {string} [field]
 * @returns {Uint8Array}
 */
export function toBytes(text, field = 'text') {
  if (typeof text === 'string') return encoder.encode(text);
  if (ArrayBuffer.isView(text)) return new Uint8Array(text.buffer, text.byteOffset, text.byteLength);
  return isBytes(text) ? new Uint8Array(text) : refuseType(field, 'string or bytes', text);
}

/**
 * The text of well-formed UTF-8 that is in no shared memory.
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export function fromBytes(bytes) {
  return decoder.decode(bytes);
}
