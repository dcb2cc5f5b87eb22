// One artifact for all tests of a file, over memory of its own.

import { load } from '../src/index.js';

export const contract = await load();
export const publisher = contract.with({ profile: 'publisher' });

/** Sampling as the publisher has it, from a seed. @param {Record<string, unknown>} [explicit] */
export function config(explicit = {}) {
  return {
    profile: 'contract', rng: 'pcg32', seed: 7, temperature: 0.6, top_k: 20, top_p: 0.95, min_p: 0, repetition_penalty: 1,
    max_tokens: 8, stop_ids: [151645], ...explicit,
  }; // prettier-ignore
}

/** @param {import('../src/errors.js').ErrorCode} code @param {Record<string, unknown>} [fields] those that matter */
export function refusal(code, fields = {}) {
  return (/** @type {any} */ error) => {
    const found = { name: error.name, code: error.code, fields: Object.fromEntries(Object.keys(fields).map((name) => [name, error.fields?.[name]])) };
    const expected = { name: 'Slm2Error', code, fields };
    if (JSON.stringify(found) === JSON.stringify(expected) && error.message !== '') return true;
    throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(found)}: ${error.message}`);
  };
}
