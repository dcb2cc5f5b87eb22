// The adapters over the real engines, with a tiny random model: a cache that is cut gives what no cache gives.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { onnxruntimeModel } from '../src/adapters/onnxruntime.js';
import { transformersModel } from '../src/adapters/transformers.js';
import { tinyModel, writeTinyModel } from './tiny_model.js';

/** @typedef {import('../src/adapters/model.js').Model} Model */

/** @param {() => Promise<Model>} open */
async function checkCache(open) {
  const [cached, whole] = [await open(), await open()];
  const row = async (/** @type {Model} */ model, /** @type {number} */ keep, /** @type {number[]} */ ids) => {
    const logits = await model.logits(keep, Uint32Array.from(ids));
    assert.ok(logits instanceof Float32Array);
    assert.equal(logits.length, 151_936);
    return Float32Array.from(logits);
  };
  const first = await row(cached, 0, [5, 6, 7]);
  const longer = await row(cached, 3, [8]);
  const turned = await row(cached, 2, [9, 10]);
  const again = await row(cached, 0, [5, 6, 7]);
  assert.deepEqual(again, first);
  for (const [ids, expected] of /** @type {[number[], Float32Array][]} */ ([[[5, 6, 7, 8], longer], [[5, 6, 9, 10], turned]])) {
    const found = await row(whole, 0, ids);
    for (let id = 0; id < found.length; id++) assert.ok(Math.abs(Number(found[id]) - Number(expected[id])) < 1e-5, `id ${id} of ${ids}`);
  }
  assert.notDeepEqual(longer, turned);
  await cached.dispose?.();
  await whole.dispose?.();
}

test('onnxruntime-web', async () => {
  const ort = await import('onnxruntime-web');
  ort.env.wasm.numThreads = 1;
  const model = tinyModel();
  await checkCache(async () => onnxruntimeModel({ ort, session: await ort.InferenceSession.create(model) }));
});

test('transformers.js', async () => {
  const transformers = await import('@huggingface/transformers');
  const folder = await mkdtemp(join(tmpdir(), 'slm2-model-'));
  await writeTinyModel(join(folder, 'tiny'));
  transformers.env.allowRemoteModels = false;
  transformers.env.localModelPath = folder;
  await checkCache(async () => transformersModel({ transformers, model: await transformers.AutoModelForCausalLM.from_pretrained('tiny', { dtype: 'fp32' }) }));
  await rm(folder, { recursive: true });
});
