// A decoder model in ONNX, run by onnxruntime-web or onnxruntime-node: inputs and outputs as Optimum names them.

import { Slm2Error } from '../errors.js';
import { checkStep, cut, lastRow, range64 } from './model.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('onnxruntime-web').InferenceSession} InferenceSession */
/** @typedef {import('onnxruntime-web').Tensor} Tensor */

/**
 * @param {object} options
 * @param {{Tensor: typeof import('onnxruntime-web').Tensor}} options.ort the module `onnxruntime-web` (or its webgpu build, or `onnxruntime-node`)
 * @param {InferenceSession} options.session of a decoder: `input_ids` and, where it has them, `attention_mask`, `position_ids` and
 *   `num_logits_to_keep` in; `past_key_values.*` in, `logits` and `present.*` out
 * @returns {Model}
 * @throws {Slm2Error} `invalid_value` where the decoder has no cache; of its steps `invalid_type` and `invalid_value`, before the cache is touched
 */
export function onnxruntimeModel({ ort, session }) {
  const pasts = session.inputNames.filter((name) => name.startsWith('past_key_values.'));
  if (pasts.length === 0) throw new Slm2Error('invalid_value', { field: 'session', expected: 'a decoder with a cache, past_key_values.*', found: 'none' });
  /** @type {Map<string, Tensor>} */
  let cache = new Map();
  let cached = 0;

  /** @param {string} name */
  function empty(name) {
    const metadata = session.inputMetadata.find((input) => input.name === name);
    if (metadata === undefined || !metadata.isTensor) throw new Error(`${name} is no tensor`);
    // [batch, heads, ids, width]: what has no number is the batch of 1 or the ids, of which there are none.
    const dims = metadata.shape.map((size, at) => (typeof size === 'number' ? size : at === 0 ? 1 : 0));
    const data = metadata.type === 'float16' ? new Uint16Array(0) : new Float32Array(0);
    return new ort.Tensor(/** @type {'float32'} */ (metadata.type), /** @type {Float32Array} */ (data), dims);
  }

  /** @param {Tensor} tensor @param {number} keep */
  function shortened(tensor, keep) {
    const { data, dims } = cut(/** @type {Float32Array} */ (tensor.data), tensor.dims, keep);
    return new ort.Tensor(/** @type {'float32'} */ (tensor.type), data, dims);
  }

  /** All of it or nothing. @param {number} keep */
  function cutCache(keep) {
    if (keep === cached && cache.size > 0) return;
    const before = [...cache.values()];
    cache = new Map(pasts.map((name) => [name, keep === 0 ? empty(name) : shortened(/** @type {Tensor} */ (cache.get(name)), keep)]));
    cached = keep;
    for (const tensor of before) tensor.dispose();
  }

  return {
    async logits(keep, append) {
      checkStep(keep, append, cached);
      cutCache(keep);
      const count = append.length;
      /** @type {Record<string, () => Tensor>} */
      const possible = {
        input_ids: () => new ort.Tensor('int64', BigInt64Array.from(append, BigInt), [1, count]),
        attention_mask: () => new ort.Tensor('int64', new BigInt64Array(cached + count).fill(1n), [1, cached + count]),
        position_ids: () => new ort.Tensor('int64', range64(cached, count), [1, count]),
        num_logits_to_keep: () => new ort.Tensor('int64', BigInt64Array.of(1n), []),
      };
      /** @type {Record<string, Tensor>} */
      const feeds = Object.fromEntries(cache);
      for (const name of session.inputNames) {
        const make = possible[name];
        if (make !== undefined) feeds[name] = make();
      }
      const outputs = await session.run(feeds);
      for (const tensor of cache.values()) tensor.dispose();
      cache = new Map(pasts.map((name) => [name, /** @type {Tensor} */ (outputs[name.replace('past_key_values', 'present')])]));
      cached += count;
      return lastRow(/** @type {Tensor} */ (outputs.logits));
    },
    async dispose() {
      for (const tensor of cache.values()) tensor.dispose();
      cache.clear();
      await session.release();
    },
  };
}
