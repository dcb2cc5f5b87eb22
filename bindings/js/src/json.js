// Values of JavaScript as JSON text, without a silent change: what JSON cannot hold is refused. The core reads it (contract/template.md).

import { Slm2Error, refuseType } from './errors.js';
import { isBytes, toBytes } from './text.js';

// Deeper than anything that the core reads (M-31); what is deeper still is cut there, and refused by the core like any other depth.
const DEEPEST = 200;

/**
 * JSON text for the core. Text and bytes are taken as JSON text, as it stands: numbers keep how they are written.
 * @param {string} field what it is, for an error
 * @param {unknown} value text, bytes, or a value: null, booleans, finite numbers, bigints, strings, arrays and plain objects
 * @returns {string | Uint8Array}
 */
export function jsonText(field, value) {
  if (typeof value === 'string') return value;
  return isBytes(value) ? toBytes(value) : writeJson(field, value);
}

/**
 * A value as JSON text. A number without a fraction is an integer; members that are undefined are absent.
 * @param {string} field what it is, for an error
 * @param {unknown} value
 * @param {number} [depth] objects and arrays around it
 * @returns {string}
 */
export function writeJson(field, value, depth = 0) {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'bigint':
      return value.toString();
    case 'number':
      if (!Number.isFinite(value)) throw new Slm2Error('json_number', { found: String(value) });
      return JSON.stringify(value);
    case 'object':
      if (value === null) return 'null';
      return depth > DEEPEST ? '[]' : writeContainer(field, value, depth + 1);
    default:
      return refuseType(field, 'a JSON value', value);
  }
}

/**
 * @param {string} field
 * @param {object} value
 * @param {number} depth
 * @returns {string}
 */
function writeContainer(field, value, depth) {
  if (Array.isArray(value)) {
    return `[${Array.from(value, (element, at) => writeJson(`${field}[${at}]`, element, depth)).join(',')}]`;
  }
  const prototype = Object.getPrototypeOf(value);
  // Of another realm too: what has an Object's prototype is plain wherever it was made.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) refuseType(field, 'a JSON value', value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${writeJson(`${field}.${key}`, member, depth)}`).join(',')}}`;
}
