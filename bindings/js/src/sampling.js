// Sampling2's face: logits to a token id, one row at a time (contract/sampling.md).

import { Handle } from './core.js';
import { Slm2Error, choice, integer, kind, refuseType } from './errors.js';
import { jsonText } from './json.js';
import { isBytes, toBytes } from './text.js';
import { idsOf } from './tokenizer.js';

/** @typedef {import('./core.js').Core} Core */
/** @typedef {import('./adapters/model.js').Logits} Logits */

/**
 * One draw.
 * @typedef {object} Sample
 * @property {number} id the token
 * @property {number} probability of the token among the kept ones
 * @property {number} logProbability its natural logarithm
 * @property {[number, number, number, number]} sizes how many ids were left before top_k, after it, after top_p and after min_p
 * @property {number} words how many 32-bit words the step took from the generator
 * @property {number[]} numbers what decided, for audits (contract/sampling.md, S-62)
 * @property {Ranked[]} top the most probable of the kept tokens, as many as were asked for
 */
/** @typedef {{id: number, probability: number, logProbability: number}} Ranked */

/** Logits of a row of Qwen3-0.6B. */
export const WIDTH = 151_936;
/** `<|im_end|>` and `<|endoftext|>`: what the publisher's generation_config.json ends a reply with. */
export const STOP_IDS = Object.freeze([151_645, 151_643]);
/** The publisher's values for a way to use the model. */
export const PRESETS = Object.freeze({
  thinking: Object.freeze({ temperature: 0.6, top_k: 20, top_p: 0.95, min_p: 0, repetition_penalty: 1 }),
  'non-thinking': Object.freeze({ temperature: 0.7, top_k: 20, top_p: 0.8, min_p: 0, repetition_penalty: 1 }),
});

const MOST_LOGITS = 2 ** 24;
/** Bytes of a struct `slm2_sample`. */
export const SAMPLE_BYTES = 104;
const RANKED_BYTES = 24;

/**
 * A configuration with the values of a preset; all that the preset does not set must be given, and what is given goes first.
 * @param {keyof typeof PRESETS} name
 * @param {Record<string, unknown>} explicit fields of contract/sampling.md
 * @returns {Record<string, unknown>}
 */
export function configFromPreset(name, explicit) {
  choice('preset', Object.keys(PRESETS), name);
  return { ...PRESETS[name], ...explicit };
}

/** A configuration, a generator and a history: what draws the ids of one sequence. */
export class Sampler {
  #core;
  #handle;
  /** Logits of a row. */
  width;

  /**
   * @param {Core} core
   * @param {unknown} config
   * @param {ArrayLike<number>} prompt
   * @param {{width?: number}} [options]
   */
  constructor(core, config, prompt, { width = WIDTH } = {}) {
    this.width = integer('width', width, 1, MOST_LOGITS);
    this.#core = core;
    const ids = idsOf(core, prompt, 'prompt');
    const settings = core.put(jsonText('config', config));
    const history = core.putIds(ids);
    const address = core.make('sampler_new', core.contract, settings.address, settings.length, history.address, ids.length, width);
    this.#handle = new Handle(core, 'sampler', address);
  }

  /**
   * Draw an id of one row of logits, and take it into the history.
   * @param {Logits} logits `width` of them; 16-bit values are widened, which is exact
   * @param {{allowed?: ArrayBuffer | ArrayBufferView | boolean[] | null, top?: number}} [options] `allowed`: bytes with a bit for each id, lowest
   *   first, or a boolean for each; `top`: how many of the most probable kept tokens to tell
   * @returns {Sample}
   * @throws {Slm2Error} `invalid_type`, `logits_length`, `logits_invalid`, `logits_overflow`, `logits_excluded`, `allowed_length`;
   *   nothing has changed then
   */
  sample(logits, { allowed = null, top = 0 } = {}) {
    const core = this.#core;
    const row = rowOf(logits);
    integer('top', top, 0, this.width);
    const mask = maskOf(core, allowed, this.width);
    const { address } = core.putRow(row);
    const drawn = core.reserve('sample', SAMPLE_BYTES).address;
    core.run('sampler_sample', this.#handle.address, address, row.length, mask.address, mask.length, top, drawn);
    return { ...readSample(core, drawn), top: top === 0 ? [] : readTop(core, this.#handle.address) };
  }

  /** The ids that the last step kept, rising; none before the first. @returns {Uint32Array} */
  kept() {
    return this.#core.takeIds('sampler_kept', this.#handle.address);
  }

  /**
   * Take ids into the history that the model has seen and this sampler did not draw.
   * @param {ArrayLike<number>} ids
   */
  extend(ids) {
    const given = idsOf(this.#core, ids);
    const { address } = this.#core.putIds(given);
    this.#core.run('sampler_extend', this.#handle.address, address, given.length);
  }

  /** How many 32-bit words were taken since the seed. @returns {bigint} */
  get position() {
    return positionOf(this.#core, 'sampler_position', this.#handle.address);
  }

  /**
   * Go on as if so many words had been taken.
   * @param {number | bigint} words
   */
  advance(words) {
    this.#core.run('sampler_advance', this.#handle.address, wordsOf(words));
  }

  /** The state of the generator, to be kept as it is. The history is not in it. @returns {Uint8Array} */
  state() {
    return this.#core.takeBytes('sampler_state', this.#handle.address);
  }

  /**
   * Go on from a saved state of a generator of the same kind.
   * @param {Uint8Array} state
   */
  restore(state) {
    if (!isBytes(state)) refuseType('state', 'bytes', state);
    const { address, length } = this.#core.put(state);
    this.#core.run('sampler_restore', this.#handle.address, address, length);
  }

  /** Let go of it now. */
  dispose() {
    this.#handle.dispose();
  }
}

/**
 * The most probable ids of the last step of a sampler.
 * @param {Core} core
 * @param {number} sampler
 * @returns {Ranked[]}
 */
export function readTop(core, sampler) {
  const { address, count } = core.take(RANKED_BYTES, 'sampler_top', sampler);
  const at = (/** @type {number} */ row) => address + RANKED_BYTES * row;
  return Array.from({ length: count }, (_, row) => ({
    id: core.view.getUint32(at(row), true),
    probability: core.view.getFloat64(at(row) + 8, true),
    logProbability: core.view.getFloat64(at(row) + 16, true),
  }));
}

/** @param {Core} core @param {string} name @param {number} handle */
export function positionOf(core, name, handle) {
  core.run(name, handle, core.cell());
  return core.view.getBigUint64(core.cell(), true) | (core.view.getBigUint64(core.cell(8), true) << 64n);
}

/** @param {number | bigint} words */
export function wordsOf(words) {
  if (typeof words !== 'bigint' && !Number.isSafeInteger(words)) refuseType('words', 'an integer', words);
  if (words < 0 || words >= 2n ** 64n) {
    throw new Slm2Error('invalid_value', { field: 'words', expected: 'an integer from 0 to 2^64 - 1', found: String(words) });
  }
  return BigInt(words);
}

/**
 * A struct `slm2_sample`: all its fields have 8 bytes.
 * @param {Core} core
 * @param {number} address
 * @returns {Omit<Sample, 'top'>}
 */
export function readSample(core, address) {
  const { view } = core;
  const integer = (/** @type {number} */ field) => view.getUint32(address + 8 * field, true);
  const float = (/** @type {number} */ field) => view.getFloat64(address + 8 * field, true);
  return {
    id: integer(0),
    words: integer(1),
    sizes: [integer(2), integer(3), integer(4), integer(5)],
    probability: float(6),
    logProbability: float(7),
    numbers: Array.from({ length: integer(8) }, (_, at) => float(9 + at)),
  };
}

/**
 * The float32 values of 16-bit patterns; exact.
 * @param {Uint16Array} bits
 * @param {'float16' | 'bfloat16'} dtype
 * @returns {Float32Array}
 */
export function widen(bits, dtype) {
  if (!(bits instanceof Uint16Array)) refuseType('bits', 'a Uint16Array', bits);
  choice('dtype', ['float16', 'bfloat16'], dtype);
  if (dtype === 'bfloat16') return new Float32Array(Uint32Array.from(bits, (pattern) => pattern << 16).buffer);
  return Float32Array.from(bits, float16);
}

/** @param {number} pattern */
function float16(pattern) {
  const sign = pattern & 0x8000 ? -1 : 1;
  const exponent = (pattern >> 10) & 0x1f;
  const fraction = pattern & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

/** @param {unknown} logits @returns {Float32Array} */
export function rowOf(logits) {
  if (logits instanceof Float32Array) return logits;
  if (logits !== null && typeof logits === 'object' && 'bits' in logits && 'dtype' in logits) {
    return widen(/** @type {Uint16Array} */ (logits.bits), /** @type {'float16'} */ (logits.dtype));
  }
  throw new Slm2Error('invalid_type', { field: 'logits', expected: 'a Float32Array, or float16 or bfloat16 as bits', found: kind(logits) });
}

/**
 * @param {Core} core
 * @param {unknown} allowed
 * @param {number} width
 */
export function maskOf(core, allowed, width) {
  if (allowed === null) return { address: 0, length: 0 };
  if (isBytes(allowed)) return core.put(toBytes(allowed), 'allowed');
  if (!Array.isArray(allowed)) refuseType('allowed', 'bytes with a bit for each id, or an array of booleans', allowed);
  const expected = Math.ceil(width / 8);
  if (allowed.length !== width) throw new Slm2Error('allowed_length', { found: Math.ceil(allowed.length / 8), expected });
  const bits = new Uint8Array(expected);
  for (const [id, may] of allowed.entries()) {
    if (typeof may !== 'boolean') refuseType(`allowed[${id}]`, 'boolean', may);
    if (may) bits[id >> 3] = Number(bits[id >> 3]) | (1 << (id & 7));
  }
  return core.put(bits, 'allowed');
}
