// The adapters over the real engines, with a tiny random model: a cache that is cut gives what no cache gives.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { onnxruntimeModel } from '../src/adapters/onnxruntime.js';
import { transformersModel } from '../src/adapters/transformers.js';
import { refusal } from './opened.js';
import { tinyModel, writeTinyModel } from './tiny_model.js';

/** @typedef {import('../src/adapters/model.js').Model} Model */

/**
 * What cannot be a step is refused, and what the engine did not do can be asked for again: neither changes what comes.
 * @param {() => Promise<Model>} open
 * @param {(failing: boolean) => void} fail makes the engine fail, or not any more
 */
async function checkFailures(open, fail) {
  const [model, undisturbed] = [await open(), await open()];
  for (const each of [model, undisturbed]) await each.logits(0, Uint32Array.of(5, 6, 7));
  for (const [keep, append, code] of /** @type {[any, any, 'invalid_type' | 'invalid_value'][]} */ ([
    [4, Uint32Array.of(8), 'invalid_value'], [-1, Uint32Array.of(8), 'invalid_value'], [1.5, Uint32Array.of(8), 'invalid_type'],
    [true, Uint32Array.of(8), 'invalid_type'], [3, [8], 'invalid_type'], [3, [true], 'invalid_type'], [3, new Uint32Array(0), 'invalid_value'],
  ])) await assert.rejects(async () => model.logits(keep, append), refusal(code)); // prettier-ignore
  fail(true);
  await assert.rejects(async () => model.logits(2, Uint32Array.of(9, 10)), /on purpose/);
  fail(false);
  // The cache was cut, or not: never more than was to stay.
  await assert.rejects(async () => model.logits(3, Uint32Array.of(9)), refusal('invalid_value', { field: 'keep' }));
  assert.deepEqual(await model.logits(2, Uint32Array.of(9, 10)), await undisturbed.logits(2, Uint32Array.of(9, 10)));
  await model.dispose?.();
  await undisturbed.dispose?.();
}

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
  let failing = false;
  const open = async () => {
    const session = await ort.InferenceSession.create(model);
    const run = session.run.bind(session);
    session.run = async (/** @type {any} */ ...given) => (failing ? Promise.reject(new Error('on purpose')) : /** @type {any} */ (run)(...given));
    return onnxruntimeModel({ ort, session });
  };
  await checkFailures(open, (now) => (failing = now));
  const without = { inputNames: ['input_ids'], inputMetadata: [] };
  assert.throws(() => onnxruntimeModel({ ort, session: /** @type {any} */ (without) }), refusal('invalid_value', { field: 'session' }));
});

test('transformers.js', async () => {
  const transformers = await import('@huggingface/transformers');
  const folder = await mkdtemp(join(tmpdir(), 'slm2-model-'));
  await writeTinyModel(join(folder, 'tiny'));
  transformers.env.allowRemoteModels = false;
  transformers.env.localModelPath = folder;
  const tiny = () => transformers.AutoModelForCausalLM.from_pretrained('tiny', { dtype: 'fp32' });
  await checkCache(async () => transformersModel({ transformers, model: await tiny() }));
  let failing = false;
  const open = async () => {
    const model = await tiny();
    const forward = model.forward.bind(model);
    model.forward = async (/** @type {any} */ given) => (failing ? Promise.reject(new Error('on purpose')) : forward(given));
    return transformersModel({ transformers, model });
  };
  await checkFailures(open, (now) => (failing = now));
  await rm(folder, { recursive: true });
});
