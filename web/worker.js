// The page's worker: a testee for the conformance view, and a model of random weights for whoever asks it to generate.

import { serve } from './slm2/worker/serve.js';
import { Testee } from './slm2/conformance/testee.js';

/** @type {WeakMap<object, Testee>} */
const testees = new WeakMap();

serve({
  model: randomModel,
  answer(contract, method, params) {
    let testee = testees.get(contract);
    if (testee === undefined) {
      testee = new Testee(contract, { runtime: browser(), platform: `browser worker, ${self.crossOriginIsolated ? '' : 'not '}isolated` });
      testees.set(contract, testee);
    }
    if (method === 'bytes') return contract.opened.bytes;
    return testee.answer(/** @type {any} */ (params));
  },
});

/** A model without weights: logits that depend on all ids so far and on nothing else. */
function randomModel() {
  /** @type {number[]} */
  let seen = [];
  const row = new Float32Array(151_936);
  return {
    /** @param {number} keep @param {Uint32Array} append */
    logits(keep, append) {
      seen = [...seen.slice(0, keep), ...append];
      let state = seen.reduce((sum, id) => (Math.imul(sum, 31) + id) >>> 0, 7);
      for (let id = 0; id < row.length; id++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        row[id] = (state >>> 8) / 2 ** 22;
      }
      return row;
    },
  };
}

function browser() {
  const { brands = [] } = /** @type {any} */ (navigator).userAgentData ?? {};
  const named = brands.find((/** @type {any} */ { brand }) => !brand.includes('Not'));
  return named ? `${named.brand} ${named.version}` : navigator.userAgent;
}
