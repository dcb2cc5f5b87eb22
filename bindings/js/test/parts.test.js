// Template, stream, reply, session, sampler, generation: what a host can get wrong. What the core decides is in the vectors.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STOP_IDS, WIDTH, configFromPreset, load, openShared, widen } from '../src/index.js';
import { config, contract, publisher, refusal } from './opened.js';

const HI = [{ role: 'user', content: 'Hi' }];

test('a conversation is rendered', () => {
  const rendering = contract.template.render(HI, { addGenerationPrompt: true });
  assert.deepEqual([...rendering.inputIds], [151644, 872, 198, 13048, 151645, 198, 151644, 77091, 198]);
  assert.deepEqual([rendering.state, rendering.findings, rendering.policyFindings], ['ASSISTANT_OPEN', [], 0]);
  assert.deepEqual(rendering.path, ['USER_TURN', 'ASSISTANT_OPEN']);
  assert.equal(rendering.tokens[3]?.trust, 'untrusted');
  assert.equal(rendering.text, '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n');
});

test('a request as JSON text keeps how its numbers are written, a value does not lose what it can hold', () => {
  const call = (/** @type {string} */ number) => `{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": {"n": ${number}}}]}]}`;
  assert.match(contract.template.renderRequest(call('1.0')).text, /"n": 1\.0/);
  assert.match(contract.template.renderRequest(call('123456789012345678901')).text, /"n": 123456789012345678901/);
  const messages = (/** @type {unknown} */ n) => [HI[0], { role: 'assistant', content: '', tool_calls: [{ name: 'f', arguments: { n, absent: undefined } }] }];
  assert.match(contract.template.render(messages(2n ** 70n)).text, /"n": 1180591620717411303424}/);
  assert.throws(() => contract.template.render(messages(NaN)), refusal('json_number'));
  assert.throws(() => contract.template.render(messages(new Date(0))), refusal('invalid_type', { found: 'Date' }));
  assert.throws(() => contract.template.render(messages([undefined])), refusal('invalid_type', { found: 'undefined' }));
  /** @type {unknown[]} */
  const circle = [];
  circle.push(circle);
  assert.throws(() => contract.template.render(messages(circle)), refusal('json_invalid'));
  assert.throws(() => contract.template.render(HI, /** @type {any} */ ({ add_generation_prompt: true })), refusal('unknown_field', { field: 'add_generation_prompt' }));
  assert.throws(() => contract.template.render([]), refusal('empty_conversation'));
});

test('a stream delivers what is complete, and fails with a type', () => {
  const decoder = contract.streamDecoder({ special: 'refuse' });
  const texts = [...contract.tokenizer.encode('naïve 👍🏽')].map((id) => decoder.push(id));
  assert.deepEqual(texts, ['na', 'ï', 've', ' ', '👍', '🏽']);
  decoder.finish();
  assert.throws(() => decoder.push(1), refusal('stream_closed'));
  const cut = contract.streamDecoder({ special: 'refuse' });
  cut.push(Number(contract.tokenizer.tokenId(Uint8Array.of(0xf0))));
  assert.throws(() => cut.finish(), refusal('unfinished_text'));
  assert.ok(cut.pending.length > 0);
});

test('a session takes a reply by its ids and says what a cache keeps', () => {
  const session = contract.session({ preserveThinking: false });
  const first = session.extend(HI);
  assert.deepEqual([first.keep, first.append.length, first.state], [0, 9, 'ASSISTANT_OPEN']);
  const events = session.reply(contract.tokenizer.encodeTrusted('<think>\nHm.\n</think>\n\nHello!<|im_end|>'));
  assert.equal(events.at(-1)?.kind, 'end');
  const fork = session.fork();
  const restored = contract.restoreSession(session.save());
  const delta = session.extend([{ role: 'user', content: 'Bye' }]);
  assert.deepEqual([delta.keep, delta.lost], [9, [{ message: 1, ids: 10, reason: 'reasoning' }]]);
  for (const other of [fork, restored]) assert.deepEqual(other.extend([{ role: 'user', content: 'Bye' }]), delta);
  assert.equal(session.messages.length, 3);
  assert.throws(() => contract.restoreSession('{}'), refusal('checkpoint_refused'));
});

test('a reply is read', () => {
  const reply = contract.reply('ASSISTANT_OPEN');
  reply.push(contract.tokenizer.encodeTrusted('<think>\nHm.\n</think>\n\nHello!<|im_end|>'));
  assert.deepEqual([reply.ended, reply.faults, reply.message], [true, [], { role: 'assistant', content: 'Hello!', reasoning_content: 'Hm.' }]);
  assert.throws(() => contract.reply('NOWHERE'), refusal('invalid_value'));
});

test('a sampler draws, goes back, and is refused what it cannot take', () => {
  const row = new Float32Array(WIDTH).fill(-Infinity);
  row.set([3, 2, 1], 100);
  const sampler = contract.sampler(config());
  const state = sampler.state();
  const drawn = Array.from({ length: 20 }, () => sampler.sample(row, { top: 2 }));
  assert.deepEqual([drawn[0]?.sizes[0], drawn[0]?.top.length, sampler.position], [3, 2, 40n]);
  sampler.restore(state);
  assert.deepEqual(Array.from({ length: 20 }, () => sampler.sample(row).id), drawn.map(({ id }) => id));
  const only = new Uint8Array(Math.ceil(WIDTH / 8));
  only[12] = 1 << 6;
  assert.equal(sampler.sample(row, { allowed: only }).id, 102);
  assert.deepEqual([...sampler.kept()], [102]);
  assert.throws(() => sampler.sample(row.subarray(1)), refusal('logits_length', { found: WIDTH - 1, expected: WIDTH }));
  assert.throws(() => sampler.sample(row, { allowed: only.subarray(1) }), refusal('allowed_length'));
  assert.throws(() => sampler.sample(/** @type {any} */ ([1, 2])), refusal('invalid_type', { field: 'logits', found: 'Array' }));
  assert.throws(() => sampler.advance(-1), refusal('invalid_value', { field: 'words' }));
  assert.throws(() => contract.sampler(config({ rng: 'mt19937-torch' })), refusal('sampling_pairing'));
  assert.throws(() => contract.sampler(config({ temprature: 1 })), refusal('unknown_field'));
  assert.throws(() => contract.sampler(configFromPreset('thinking', {})), refusal('missing_field'));
});

test('a step that failed changed nothing: what comes is what an undisturbed one draws', () => {
  const row = Float32Array.from({ length: WIDTH }, (_, id) => Math.sin(id) * 5);
  const broken = row.with(7, NaN);
  const settings = config({ temperature: 2, top_k: 0, top_p: 1, repetition_penalty: 1.3, max_tokens: 100, rng: 'pcg32' });
  const [disturbed, undisturbed] = [0, 1].map(() => contract.generation(settings, [1, 2], { special: 'skip' }));
  const [sampler, other] = [0, 1].map(() => contract.sampler(settings, [1, 2]));
  for (let step = 0; step < 8; step++) {
    for (const failing of [
      () => [broken, {}], () => [row.subarray(1), {}], () => [row, { top: 1.5 }], () => [row, { top: 2 ** 25 }], () => [row, { allowed: new Uint8Array(3) }],
      () => [row, { allowed: Array(WIDTH).fill(1) }], () => [row, { allowed: new Array(WIDTH) }], () => [row, { allowed: Array(WIDTH).fill(false) }],
    ]) { // prettier-ignore
      const [logits, options] = /** @type {[Float32Array, any]} */ (failing());
      assert.throws(() => disturbed?.step(logits, options), { name: 'Slm2Error' });
      assert.throws(() => sampler?.sample(logits, options), { name: 'Slm2Error' });
    }
    assert.deepEqual(disturbed?.step(row, { top: 2 }), undisturbed?.step(row, { top: 2 }));
    assert.deepEqual(sampler?.sample(row, { top: 2 }), other?.sample(row, { top: 2 }));
  }
  assert.deepEqual([disturbed?.steps, disturbed?.result], [8, undisturbed?.result]);
});

test('a saved conversation with the state of its generator goes on as one that was not', async () => {
  const row = Float32Array.from({ length: WIDTH }, (_, id) => Math.sin(id) * 5);
  const settings = config({ temperature: 2, top_k: 0, top_p: 1, repetition_penalty: 1.3 });
  const session = contract.session();
  const prompt = session.extend(HI).append;
  const sampler = contract.sampler(settings, prompt);
  const drawn = Array.from({ length: 5 }, () => sampler.sample(row).id);
  const [checkpoint, state] = [session.save(), sampler.state()];
  const own = await load();
  const restored = own.restoreSession(checkpoint);
  const continued = own.sampler(settings, [...restored.cachedIds, ...drawn]);
  continued.restore(state);
  for (let step = 0; step < 20; step++) assert.deepEqual(continued.sample(row), sampler.sample(row));
  assert.deepEqual([continued.position, continued.state()], [sampler.position, sampler.state()]);
  assert.throws(() => continued.restore(state.slice(1)), { name: 'Slm2Error' });
  own.dispose();
});

test('floats, booleans and text are no ids, wherever ids are taken', () => {
  const sampler = contract.sampler(config());
  const takers = [
    (/** @type {any} */ ids) => contract.tokenizer.decode(ids, { special: 'bytes' }), (/** @type {any} */ ids) => contract.streamDecoder({ special: 'bytes' }).push(ids),
    (/** @type {any} */ ids) => contract.session().reply(ids), (/** @type {any} */ ids) => sampler.extend(ids), (/** @type {any} */ ids) => contract.sampler(config(), ids),
    (/** @type {any} */ ids) => contract.generation(config(), ids, { special: 'skip' }), (/** @type {any} */ ids) => contract.reply('ASSISTANT_OPEN').push(ids),
  ]; // prettier-ignore
  for (const [at, take] of takers.entries()) {
    for (const ids of [[1.5], [true], ['1'], [null], [NaN], [1n], '12', true, Float64Array.of(0.5), BigInt64Array.of(1n), new Array(1)]) {
      assert.throws(() => take(ids), refusal('invalid_type'), `${at} took ${String(ids)}`);
    }
  }
  for (const id of [1.5, true, '1', 1n]) assert.throws(() => contract.tokenizer.tokenBytes(/** @type {any} */ (id)), refusal('invalid_type'));
});

test('every part reads the same profile', () => {
  assert.throws(() => publisher.sampler(config()), refusal('sampling_pairing'));
  assert.throws(() => publisher.generation(config(), [], { special: 'skip' }), refusal('sampling_pairing'));
});

test('16-bit logits are widened exactly', () => {
  assert.deepEqual([...widen(Uint16Array.of(0x3f80, 0xc2c8, 0xff80), 'bfloat16')], [1, -100, -Infinity]);
  assert.deepEqual([...widen(Uint16Array.of(0x3c00, 0x0001, 0x7bff, 0xfc00, 0x8000), 'float16')], [1, 2 ** -24, 65504, -Infinity, -0]);
  assert.ok(Number.isNaN(widen(Uint16Array.of(0x7e00), 'float16')[0]));
});

test('a generation ends with a reason', () => {
  const one = (/** @type {number} */ id) => new Float32Array(WIDTH).fill(-20).fill(20, id, id + 1);
  const stopped = contract.generation(config({ stop_ids: STOP_IDS }), [], { special: 'skip' });
  assert.deepEqual([stopped.step(one(9707)).text, stopped.step(one(151645)).reason], ['Hello', 'StopToken']);
  assert.throws(() => stopped.step(one(1)), refusal('generation_ended'));
  const limited = contract.generation(config({ max_tokens: 1 }), [], { special: 'skip' });
  assert.equal(limited.step(one(9707)).reason, 'MaxTokens');
  const fatal = contract.generation(config({ max_tokens: 1 }), [], { special: 'skip' });
  const open = Number(contract.tokenizer.tokenId(Uint8Array.of(0xf0)));
  assert.equal(fatal.step(one(open)).reason, 'FatalError');
  assert.deepEqual([fatal.result.stoppedBy, fatal.result.pending.length > 0], ['MaxTokens', true]);
});

test('what was disposed of says so', async () => {
  const own = await load();
  const decoder = own.streamDecoder({ special: 'refuse' });
  decoder.dispose();
  decoder.dispose();
  assert.throws(() => decoder.push(1), refusal('disposed', { object: 'stream' }));
  own.dispose();
  assert.throws(() => own.tokenizer.encode('x'), refusal('disposed', { object: 'contract' }));
});

test('what cannot be opened says why', async () => {
  await assert.rejects(load({ artifact: new Uint8Array(10) }), refusal('artifact_truncated', { length: 10 }));
  await assert.rejects(load({ artifact: 'no/such/file' }), refusal('file_unreadable', { path: 'no/such/file' }));
  await assert.rejects(load(/** @type {any} */ ({ artefact: 'x' })), refusal('unknown_field', { field: 'artefact' }));
  await assert.rejects(load(/** @type {any} */ ({ profile: 'both' })), refusal('invalid_value', { field: 'profile' }));
  await assert.rejects(load({ maxPretoken: 1 }), refusal('limit_out_of_range', { found: 1 }));
  await assert.rejects(openShared(/** @type {any} */ ({ profile: 'contract' })), refusal('unknown_field', { field: 'profile' }));
});

test('shared memory gives the same', async () => {
  const shared = (await openShared()).attach();
  assert.deepEqual([shared.opened.memory, contract.opened.memory], ['shared', 'plain']);
  for (const text of ['Hello, world', '中文👍🏽'.repeat(50_000), '\ud800']) {
    assert.deepEqual(shared.tokenizer.encode(text), contract.tokenizer.encode(text));
    assert.ok(shared.tokenizer.encode(text).buffer instanceof ArrayBuffer);
  }
  const rendering = shared.template.render(HI, { addGenerationPrompt: true });
  assert.equal(rendering.text, contract.template.render(HI, { addGenerationPrompt: true }).text);
});
