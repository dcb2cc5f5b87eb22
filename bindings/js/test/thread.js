// A thread of Node with a model without weights: logits that depend on the ids alone.

import { parentPort } from 'node:worker_threads';
import { serve } from '../src/worker/serve.js';

parentPort?.once('message', (port) => serve({ model: randomModel, port }));

function randomModel() {
  /** @type {number[]} */
  let seen = [];
  return {
    /** @param {number} keep @param {Uint32Array} append */
    logits(keep, append) {
      seen = [...seen.slice(0, keep), ...append];
      let state = seen.reduce((sum, id) => (Math.imul(sum, 31) + id) >>> 0, 7);
      return Float32Array.from({ length: 151_936 }, () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 8) / 2 ** 22);
    },
  };
}
