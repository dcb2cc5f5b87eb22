// Slm2Worker and its other side, over a channel: events, back-pressure, cancelling, errors as types.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Slm2Worker, openShared } from '../src/index.js';
import { serve } from '../src/worker/serve.js';
import { config, contract, refusal } from './opened.js';

const REQUEST = { conversation: { messages: [{ role: 'user', content: 'Hi' }], add_generation_prompt: true }, sampling: config() };
const REPLY = contract.tokenizer.encodeTrusted('<think>\nHm.\n</think>\n\nHello!<|im_end|>');

/**
 * A model that says what it is told to, and what was asked of it.
 * @param {ArrayLike<number>} ids
 */
function script(ids) {
  /** @type {[number, number[]][]} */
  const asked = [];
  let held = 0;
  let prompt = 0;
  return {
    asked,
    /** @param {number} keep @param {Uint32Array} append */
    logits(keep, append) {
      if (asked.length === 0 || append.length > 1) prompt = keep + append.length;
      asked.push([keep, [...append]]);
      held = keep + append.length;
      const id = Number(ids[held - prompt]);
      return new Float32Array(151_936).fill(-30).fill(30, id, id + 1);
    },
  };
}

/**
 * A worker in this thread.
 * @param {any} model
 * @param {any} [options]
 */
async function start(model, options = {}) {
  const { port1, port2 } = new MessageChannel();
  serve({ model: () => model, answer: (opened, method, params) => [opened.digest, method, params], port: port2 });
  const end = () => port1.close();
  try {
    return { worker: await Slm2Worker.start(port1, options), end };
  } catch (error) {
    end();
    throw error;
  }
}

/** @param {AsyncIterable<any>} events */
async function all(events) {
  const read = [];
  for await (const event of events) read.push(event);
  return read;
}

test('a prompt of ids takes integers alone', async () => {
  const { worker, end } = await start(script(REPLY));
  for (const ids of [[1.5], [true], ['1'], '12', Float64Array.of(0.5)]) {
    await assert.rejects(all(worker.generate({ ids: /** @type {any} */ (ids), sampling: config() })), refusal('invalid_type'));
  }
  end();
});

test('a request becomes a prompt, steps, what the reply says, and an end', async () => {
  const model = script(REPLY);
  const { worker, end } = await start(model);
  assert.deepEqual([worker.opened.memory, worker.opened.digest], ['plain', contract.digest]);
  const events = await all(worker.generate({ ...REQUEST, sampling: config({ max_tokens: 100 }) }));
  assert.equal(events[0].kind, 'prompt');
  assert.deepEqual([...events[0].ids], [...contract.template.renderRequest(REQUEST.conversation).inputIds]);
  const steps = events.filter(({ kind }) => kind === 'step');
  assert.deepEqual(steps.map(({ sample }) => sample.id), [...REPLY]);
  assert.equal(events.filter(({ kind, event }) => kind === 'reply' && event.kind === 'content').map(({ event }) => event.text).join(''), 'Hello!');
  const last = events.at(-1);
  assert.deepEqual([last.kind, last.result.reason, last.message], ['end', 'StopToken', { role: 'assistant', content: 'Hello!', reasoning_content: 'Hm.' }]);
  assert.equal(last.result.text, '\nHm.\n\n\nHello!');
  // The model is given the prompt once, then one id at a time.
  assert.deepEqual(model.asked.map(([, append]) => append.length), [9, ...Array(REPLY.length - 1).fill(1)]);
  end();
});

test('a second request keeps what the model has already', async () => {
  const model = script(REPLY);
  const { worker, end } = await start(model);
  await all(worker.generate({ ...REQUEST, sampling: config({ max_tokens: 2 }) }));
  const [prompt] = await all(worker.generate({ ...REQUEST, sampling: config({ max_tokens: 1 }) }));
  assert.equal(prompt.kept, 8);
  assert.deepEqual(model.asked.at(-1), [8, [198]]);
  end();
});

test('the worker runs ahead by the window and no further', async () => {
  const model = script(new Uint32Array(1000).fill(9707));
  const { worker, end } = await start(model);
  const events = worker.generate({ ...REQUEST, sampling: config({ max_tokens: 900 }) }, { window: 3 });
  await events.next();
  for (let turn = 0; turn < 300; turn++) await new Promise(setImmediate);
  assert.ok(model.asked.length >= 1 && model.asked.length <= 3, `${model.asked.length} steps`);
  await events.return();
  const before = model.asked.length;
  for (let turn = 0; turn < 300; turn++) await new Promise(setImmediate);
  assert.ok(model.asked.length <= before + 1, 'leaving the loop stops the worker');
  end();
});

test('a signal cancels, also a request that waits', async () => {
  const { worker, end } = await start(script(new Uint32Array(100_000).fill(9707)));
  const stop = new AbortController();
  const long = { ...REQUEST, sampling: config({ max_tokens: 90_000 }) };
  const first = all(worker.generate(long, { signal: stop.signal, window: 1 }));
  const second = all(worker.generate(long, { signal: AbortSignal.abort() }));
  setTimeout(() => stop.abort(), 30);
  await assert.rejects(first, refusal('cancelled'));
  await assert.rejects(second, refusal('cancelled', { steps: 0 }));
  const events = await all(worker.generate({ ...REQUEST, sampling: config({ max_tokens: 2 }) }));
  assert.equal(events.at(-1).result.reason, 'MaxTokens');
  end();
});

test('refusals and failures come as what they are', async () => {
  const failing = script(REPLY);
  const { worker, end } = await start({ logits: () => Promise.reject(new Error('out of memory')) });
  await assert.rejects(all(worker.generate(REQUEST)), refusal('model_failed', { step: 0, reason: 'out of memory' }));
  await assert.rejects(all(worker.generate({ ...REQUEST, conversation: { messages: [] } })), refusal('empty_conversation'));
  await assert.rejects(all(worker.generate({ ...REQUEST, sampling: config({ top_p: 2 }) })), refusal('invalid_value'));
  await assert.rejects(all(worker.generate(/** @type {any} */ ({ ...REQUEST, ids: new Uint32Array(1) }))), refusal('invalid_value', { field: 'request' }));
  await assert.rejects(all(worker.generate(/** @type {any} */ ({ ...REQUEST, promt: 1 }))), refusal('unknown_field', { field: 'promt' }));
  assert.throws(() => /** @type {any} */ (new Slm2Worker(/** @type {any} */ ({}))), refusal('invalid_type', { field: 'port' }));
  assert.deepEqual(await worker.answer('echo', { a: 1 }), [contract.digest, 'echo', { a: 1 }]);
  worker.terminate();
  await assert.rejects(all(worker.generate(REQUEST)), refusal('worker_failed'));
  end();
  await assert.rejects(start(failing, { load: { artifact: new Uint8Array(3) } }), refusal('artifact_truncated', { length: 3 }));
});

test('four threads use one artifact, and draw what one thread draws', async () => {
  const shared = await openShared();
  const before = shared.attach().opened.bytes;
  const url = new URL('./thread.js', import.meta.url);
  const threads = Array.from({ length: 4 }, () => new Worker(url));
  try {
    const workers = await Promise.all(threads.map((thread) => startOn(thread, shared)));
    const request = { ...REQUEST, sampling: config({ max_tokens: 30 }) };
    const runs = await Promise.all(workers.map((worker) => all(worker.generate(request))));
    for (const run of runs) assert.deepEqual(run.at(-1), runs[0]?.at(-1));
    assert.ok(workers.every(({ opened }) => opened.memory === 'shared'));
    // Stacks, rows and histories of four threads; an artifact has 3.3 MB, and there is one.
    const more = shared.attach().opened.bytes - before;
    assert.ok(more < 60e6, `${more} bytes more`);
  } finally {
    for (const thread of threads) await thread.terminate();
  }
});

/** @param {Worker} thread @param {import('../src/index.js').SharedContract} shared */
function startOn(thread, shared) {
  const { port1, port2 } = new MessageChannel();
  thread.postMessage(port2, [port2]);
  return Slm2Worker.start(port1, { shared });
}
