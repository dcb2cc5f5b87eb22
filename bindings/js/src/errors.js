// The one error of the library. Codes, fields and messages: contract/errors.toml.

import { ERRORS } from './error_table.js';

/** @typedef {import('./error_table.js').ErrorCode} ErrorCode */
/** @typedef {Record<string, unknown>} Fields */

/** A refusal: nothing was done, or what was done is said in the fields. */
export class Slm2Error extends Error {
  /**
   * @param {ErrorCode} code what went wrong: stable, made to be compared
   * @param {Fields} fields what was expected, what came and where, under the names of the table
   * @param {string} [message] as the core wrote it; else the table's
   */
  constructor(code, fields, message) {
    super(message ?? written(code, fields));
    this.name = 'Slm2Error';
    this.code = code;
    this.fields = fields;
  }

  /** Code, message and fields: what a worker posts. */
  toJSON() {
    return { code: this.code, message: this.message, fields: this.fields };
  }

  /**
   * The error that another thread, or the core, wrote as JSON.
   * @param {{code: ErrorCode, message: string, fields: Fields}} written
   */
  static fromJSON({ code, message, fields }) {
    return new Slm2Error(code, fields, message);
  }
}

/**
 * @param {ErrorCode} code
 * @param {Fields} fields
 */
function written(code, fields) {
  const [, message] = ERRORS[code];
  return message.replace(/\{\{|\}\}|\{(\w+)\}/g, (braces, name) => (name === undefined ? braces.slice(1) : shown(fields[name])));
}

/** @param {unknown} value */
function shown(value) {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * What an argument is, for an error.
 * @param {unknown} value
 * @returns {string}
 */
export function kind(value) {
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value;
  return Object.prototype.toString.call(value).slice(8, -1);
}

/**
 * @param {string} field
 * @param {string} expected
 * @param {unknown} found
 * @returns {never}
 */
export function refuseType(field, expected, found) {
  throw new Slm2Error('invalid_type', { field, expected, found: kind(found) });
}

/**
 * One of some words.
 * @template {string} Word
 * @param {string} field
 * @param {readonly Word[]} words
 * @param {unknown} value
 * @returns {number} its place among them
 */
export function choice(field, words, value) {
  const at = words.indexOf(/** @type {Word} */ (value));
  if (at < 0) {
    const expected = words.length < 3 ? words.join(' or ') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
    throw new Slm2Error('invalid_value', { field, expected, found: JSON.stringify(value) ?? kind(value) });
  }
  return at;
}

/**
 * An integer within limits that a double holds exactly.
 * @param {string} field
 * @param {unknown} value
 * @param {number} least
 * @param {number} most
 * @returns {number}
 */
export function integer(field, value, least, most) {
  if (typeof value !== 'number' || !Number.isInteger(value)) refuseType(field, 'an integer', value);
  if (value < least || value > most) {
    throw new Slm2Error('invalid_value', { field, expected: `an integer from ${least} to ${most}`, found: String(value) });
  }
  return value;
}

/**
 * The members of an object of options, none but those that are known.
 * @param {unknown} options
 * @param {readonly string[]} known
 * @returns {void}
 */
export function checkOptions(options, known) {
  if (options === null || typeof options !== 'object') refuseType('options', 'object', options);
  for (const field of Object.keys(options)) {
    if (!known.includes(field)) throw new Slm2Error('unknown_field', { field, known: known.join(', ') });
  }
}
