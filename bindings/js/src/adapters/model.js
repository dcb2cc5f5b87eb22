// What a generation asks of a model, whichever engine runs it.

import { Slm2Error, integer, refuseType } from '../errors.js';

/**
 * A causal language model with a cache of its own.
 * @typedef {object} Model
 * @property {(keep: number, append: Uint32Array) => Logits | Promise<Logits>} logits
 *   cut the cache after its first `keep` ids, run `append` after them, and give the row of logits for the id that comes next. Where the
 *   engine fails the cache has no id more than the `keep` that were to stay, and the same call again gives what it would have given
 * @property {() => void | Promise<void>} [dispose] let go of everything
 */

/** @typedef {Float32Array | {bits: Uint16Array, dtype: 'float16' | 'bfloat16'}} Logits one row; 16-bit values are widened, which is exact */

/**
 * What a step asks of a cache of so many ids: refused before anything of it is touched.
 * @param {number} keep
 * @param {Uint32Array} append
 * @param {number} cached
 */
export function checkStep(keep, append, cached) {
  integer('keep', keep, 0, cached);
  if (!(append instanceof Uint32Array)) refuseType('append', 'a Uint32Array', append);
  if (append.length === 0) throw new Slm2Error('invalid_value', { field: 'append', expected: 'one id or more', found: 'none' });
}

/**
 * The last row of logits of an output [1, ids, width].
 * @param {{type: string, data: unknown, dims: readonly number[]}} tensor on the CPU
 * @returns {Logits}
 */
export function lastRow({ type, data, dims }) {
  const width = Number(dims.at(-1));
  if (type === 'float32') return /** @type {Float32Array} */ (data).subarray(-width);
  if (type !== 'float16') throw new Error(`logits are ${type}; float32 and float16 are taken`);
  // An array of float16 where the host has one, else its bits.
  const view = /** @type {ArrayBufferView} */ (data);
  const bits = new Uint16Array(view.buffer, view.byteOffset, view.byteLength / 2);
  return { bits: bits.subarray(-width), dtype: 'float16' };
}

/**
 * The first ids of a cached tensor [1, heads, ids, width], as data of the same type.
 * @template {{slice(from: number, to: number): unknown, length: number, set(other: any, at: number): void}} Data
 * @param {Data} data
 * @param {readonly number[]} dims
 * @param {number} keep
 * @returns {{data: Data, dims: number[]}}
 */
export function cut(data, dims, keep) {
  const [batch = 1, heads = 1, ids = 0, width = 0] = dims;
  const kept = new /** @type {new (length: number) => Data} */ (data.constructor)(batch * heads * keep * width);
  for (let head = 0; head < batch * heads; head++) {
    kept.set(data.slice(head * ids * width, (head * ids + keep) * width), head * keep * width);
  }
  return { data: kept, dims: [batch, heads, keep, width] };
}

/**
 * Integers from `first` on as int64.
 * @param {number} first
 * @param {number} count
 */
export function range64(first, count) {
  return BigInt64Array.from({ length: count }, (_, at) => BigInt(first + at));
}
