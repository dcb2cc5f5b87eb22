// A decoder model of transformers.js: its weights and its engine; prompt, tokens and sampling are this library's.

import { checkStep, cut, lastRow } from './model.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('@huggingface/transformers').Tensor} Tensor */

/**
 * @param {object} options
 * @param {Pick<typeof import('@huggingface/transformers'), 'Tensor' | 'DynamicCache'>} options.transformers the module `@huggingface/transformers`
 * @param {import('@huggingface/transformers').PreTrainedModel} options.model as `AutoModelForCausalLM.from_pretrained` gives it
 * @returns {Model}
 * @throws {import('../errors.js').Slm2Error} of its steps `invalid_type` and `invalid_value`, before the cache is touched
 */
export function transformersModel({ transformers: { Tensor, DynamicCache }, model }) {
  let cache = new DynamicCache();
  let cached = 0;
  const session = /** @type {{inputNames: string[]}} */ (/** @type {any} */ (model).sessions.model);

  /** @param {number} keep */
  function cutCache(keep) {
    if (keep === cached) return;
    const entries = /** @type {[string, Tensor][]} */ (Object.entries(cache));
    cache = new DynamicCache(
      Object.fromEntries(
        entries.map(([name, tensor]) => {
          const { data, dims } = cut(/** @type {Float32Array} */ (tensor.data), tensor.dims, keep);
          return [name, new Tensor(tensor.type, data, dims)];
        }),
      ),
    );
    cached = keep;
  }

  return {
    async logits(keep, append) {
      checkStep(keep, append, cached);
      cutCache(keep);
      const count = append.length;
      const outputs = await model.forward({
        input_ids: new Tensor('int64', BigInt64Array.from(append, BigInt), [1, count]),
        attention_mask: new Tensor('int64', new BigInt64Array(cached + count).fill(1n), [1, cached + count]),
        ...(session.inputNames.includes('num_logits_to_keep') ? { num_logits_to_keep: new Tensor('int64', [1n], []) } : {}),
        ...(cached > 0 ? { past_key_values: cache } : {}),
      });
      /** @type {Record<string, Tensor>} */
      const present = {};
      for (const [name, tensor] of Object.entries(outputs)) {
        if (name.startsWith('present')) present[name.replace('present', 'past_key_values')] = tensor;
      }
      cache = new DynamicCache(present);
      cached += count;
      return lastRow(outputs.logits);
    },
    async dispose() {
      await cache.dispose();
      await model.dispose();
    },
  };
}
