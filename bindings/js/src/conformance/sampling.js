// The methods of sampling (contract/conformance.md). Floating-point numbers are their bits, as hex digits, highest first.

import { Handle } from '../core.js';
import { WIDTH, positionOf } from '../sampling.js';
import { Stream, sha256 } from './sweeps.js';
import { hex, outcome, using } from './testee.js';

/** @typedef {import('../index.js').Contract} Contract */
/** @typedef {import('../core.js').Core} Core */
/** @typedef {{seed: number, step: number, scale: number, head: number, bfloat16?: boolean}} Recipe */

const FUNCTIONS = ['exp', 'log', 'log1p'];
const EVERY = 100;

/** @param {number} value @returns {string} of a float64 */
function bits(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return view.getBigUint64(0).toString(16).padStart(16, '0');
}


/**
 * A row of logits: of a recipe, or one value with exceptions.
 * @param {Core} core
 * @param {any} spec
 * @param {number} width
 * @returns {Float32Array}
 */
function row(core, spec, width) {
  if (spec.recipe !== undefined) return recipeRow(core, spec.recipe, width);
  // As patterns: a number of JavaScript may lose the bits of a NaN.
  const patterns = new Uint32Array(width).fill(parseInt(spec.fill, 16));
  for (const [id, digits] of Object.entries(spec.set)) patterns[Number(id)] = parseInt(digits, 16);
  return new Float32Array(patterns.buffer);
}

/** @param {Core} core @param {Recipe} recipe @param {number} width */
function recipeRow(core, { seed, step, scale, head, bfloat16 = false }, width) {
  const { address } = core.reserve('row', 4 * width);
  core.run('recipe_logits', BigInt(seed), BigInt(step), scale, head, Number(bfloat16), address, width);
  return new Float32Array(core.copied(address, 4 * width).buffer);
}

/** @param {import('../sampling.js').Sampler} sampler */
async function keptDigest(sampler) {
  return (await sha256(new Uint8Array(sampler.kept().buffer))).slice(0, 16);
}

/** @param {string} digits */
function bytesOfHex(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** @param {any} params */
function options({ allowed, top = 0 }) {
  return { allowed: allowed === undefined ? null : bytesOfHex(allowed), top };
}

/**
 * A generator by itself.
 * @param {Core} core
 * @param {any} params
 */
function generator(core, { rng, seed, key, stream = '0', stream_name }) {
  const number = key === undefined ? seed : JSON.stringify(key);
  const stated = stream_name === undefined ? stream : JSON.stringify(stream_name);
  const { address, length } = core.put(`{"rng": ${JSON.stringify(rng)}, "seed": ${number}, "stream": ${stated}}`);
  return new Handle(core, 'generator', core.make('generator_new', address, length));
}

/** @param {Core} core @param {Handle} made @param {number} count */
function words(core, made, count) {
  const { address } = core.reserve('words', 4 * count);
  core.run('generator_words', made.address, address, count);
  return [...new Uint32Array(core.copied(address, 4 * count).buffer)];
}

/** @param {Core} core @param {Handle} made @param {Uint8Array} state */
function restore(core, made, state) {
  const { address, length } = core.put(state);
  core.run('generator_restore', made.address, address, length);
}

/** @type {Record<string, (contract: Contract, params: any) => unknown>} */
export const METHODS = {
  sample: (contract, params) =>
    using(contract.sampler(params.config, params.history, { width: params.width }), async (sampler) => {
      const steps = [];
      for (const spec of params.rows) {
        const drawn = sampler.sample(row(contract.core, spec, params.width), options(params));
        steps.push({
          id: drawn.id,
          probability: bits(drawn.probability),
          log_probability: bits(drawn.logProbability),
          sizes: drawn.sizes,
          kept: await keptDigest(sampler),
          words: drawn.words,
          numbers: drawn.numbers.map(bits),
          top: drawn.top.map(({ id, probability, logProbability }) => [id, bits(probability), bits(logProbability)]),
        });
      }
      return { steps };
    }),
  sample_kept: (contract, params) =>
    using(contract.sampler(params.config, params.history, { width: params.width }), async (sampler) => {
      const steps = [];
      for (const spec of params.rows) {
        const drawn = sampler.sample(row(contract.core, spec, params.width));
        steps.push([drawn.id, drawn.sizes[3], await keptDigest(sampler)]);
      }
      return { steps };
    }),
  random_words: ({ core }, params) =>
    using(generator(core, params), async (made) => {
      for (const count of params.advance) core.run('generator_advance', made.address, BigInt(count));
      const state = core.takeBytes('generator_state', made.address);
      core.run('generator_uniform', made.address, core.cell());
      const uniform = core.view.getFloat64(core.cell(), true);
      restore(core, made, state);
      const position = positionOf(core, 'generator_position', made.address).toString();
      return { state: await sha256(state), position, words: words(core, made, params.count), uniform: bits(uniform) };
    }),
  restore: ({ core }, params) =>
    using(generator(core, params), (made) => {
      restore(core, made, bytesOfHex(params.state));
      const position = positionOf(core, 'generator_position', made.address).toString();
      return { position, words: words(core, made, params.count) };
    }),
  portable({ core }, { function: name, values }) {
    const { address } = core.reserve('values', 8 * values.length);
    for (const [at, digits] of values.entries()) core.view.setBigUint64(address + 8 * at, BigInt(`0x${digits}`), true);
    core.run('portable', FUNCTIONS.indexOf(name), address, values.length);
    const result = (/** @type {number} */ at) => core.view.getBigUint64(address + 8 * at, true).toString(16).padStart(16, '0');
    return { values: values.map((/** @type {string} */ _, /** @type {number} */ at) => result(at)) };
  },
  async recipe({ core }, { recipe, width, count }) {
    const logits = recipeRow(core, recipe, width);
    const patterns = new Uint32Array(logits.buffer);
    const { address } = core.reserve('ids', 4 * count);
    core.run('recipe_history', BigInt(recipe.seed), width, address, count);
    return {
      first: Array.from(patterns.subarray(0, 4), (pattern) => pattern.toString(16).padStart(8, '0')),
      sha256: await sha256(new Uint8Array(logits.buffer)),
      history: [...new Uint32Array(core.copied(address, 4 * count).buffer)],
    };
  },
  generate: (contract, { config, special, ids }) =>
    using(contract.generation(config, [], { special }), (generation) => {
      /** @type {string[]} */
      const texts = [];
      const refusal = outcome(() => {
        for (const id of ids) texts.push(generation.step(new Float32Array(WIDTH).fill(1, id, id + 1)).text);
        return {};
      });
      const { result } = generation;
      return {
        texts,
        drawn: [...result.ids],
        reason: result.reason,
        stopped_by: result.stoppedBy,
        stop_string: result.stopString,
        pending: hex(result.pending),
        refusal: refusal.error ?? null,
      };
    }),
  draw: (contract, { config, width, history, recipe, cycle, steps, every = EVERY }) =>
    using(contract.sampler(config, history, { width }), async (sampler) => {
      const rows = Array.from({ length: cycle }, (_, at) => recipeRow(contract.core, { ...recipe, step: recipe.step + at }, width));
      const ids = [];
      const digests = [];
      let stretch = new Stream();
      for (let step = 0; step < steps; step++) {
        const drawn = sampler.sample(/** @type {Float32Array} */ (rows[step % cycle]));
        ids.push(drawn.id);
        stretch.u32(drawn.id, drawn.sizes[3]);
        stretch.f64(drawn.probability, drawn.logProbability);
        if ((step + 1) % every !== 0 && step + 1 !== steps) continue;
        digests.push(await stretch.digest());
        stretch = new Stream();
      }
      return { ids, digests, position: sampler.position.toString() };
    }),
};
