import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract, publisher, refusal } from './opened.js';

const { tokenizer } = contract;

test('text becomes ids and comes back', () => {
  const ids = tokenizer.encode('Hello, world');
  assert.deepEqual(ids, Uint32Array.of(9707, 11, 1879));
  assert.deepEqual(new TextDecoder().decode(tokenizer.decode(ids, { special: 'refuse' })), 'Hello, world');
});

test('text is never a special token', () => {
  assert.deepEqual([...tokenizer.encode('<|im_end|>')], [27, 91, 318, 6213, 91, 29]);
  assert.deepEqual([...tokenizer.encodeTrusted('<|im_end|>')], [151645]);
  assert.deepEqual(tokenizer.findSpecial('ä<|im_end|>'), [{ offset: 2, id: 151645, text: '<|im_end|>' }]);
  const findings = [{ offset: 0, id: 151645, text: '<|im_end|>' }];
  assert.throws(() => tokenizer.encode('<|im_end|>', { onSpecial: 'reject' }), refusal('special_token_in_text', { findings }));
});

test('an unpaired surrogate is U+FFFD, in a small string and in a large one', () => {
  for (const padding of ['', 'x'.repeat(500_000)]) {
    assert.deepEqual(tokenizer.encode(`${padding}\ud800 \udc00`), tokenizer.encode(`${padding}\ufffd \ufffd`));
  }
});

test('a string crosses whole, whatever its size and script', () => {
  for (const unit of ['a ', '中文', '👍🏽', 'naïve ']) {
    const text = unit.repeat(300_000);
    const bytes = tokenizer.decode(tokenizer.encode(text), { special: 'refuse' });
    assert.equal(new TextDecoder().decode(bytes), text);
  }
  assert.deepEqual([...tokenizer.encode('Hello')], [9707]); // memory for the large ones was given back
});

test('U+FEFF at the beginning stays', () => {
  assert.equal(contract.streamDecoder({ special: 'refuse' }).push(tokenizer.encode('\ufeffa')), '\ufeffa');
});

test('a view of the ids is good until the next call, a copy for ever', () => {
  const copy = tokenizer.encode('one two');
  const view = tokenizer.encodeView('one two');
  assert.deepEqual([...view], [...copy]);
  assert.notEqual(view.buffer, copy.buffer);
});

test('ids go to memory of the caller', () => {
  const out = new Uint32Array(4).fill(9);
  assert.equal(tokenizer.encodeInto('Hello, world', out), 3);
  assert.deepEqual([...out], [9707, 11, 1879, 9]);
  assert.throws(() => tokenizer.encodeInto('Hello, world', new Uint32Array(2)), refusal('output_too_small', { needed: 3, found: 2 }));
  assert.throws(() => tokenizer.encodeInto('x', /** @type {any} */ ([])), refusal('invalid_type', { field: 'out' }));
});

test('ranges count bytes, code points or units of a string', () => {
  const text = 'a👍';
  for (const [unit, end] of /** @type {const} */ ([['bytes', 5], ['code_points', 2], ['utf16', 3]])) {
    const { ids, starts, ends } = tokenizer.encodeSpans(text, { unit });
    assert.deepEqual([ids.length, starts[0], ends.at(-1)], [tokenizer.encode(text).length, 0, end]);
  }
  assert.throws(() => tokenizer.encodeSpans('x', { unit: /** @type {any} */ ('lines') }), refusal('invalid_value', { field: 'unit' }));
});

test('counts, batches, tokens', () => {
  assert.equal(tokenizer.count('Hello, world'), 3);
  assert.equal(tokenizer.countUntil('Hello, world', 2), null);
  assert.throws(() => tokenizer.countUntil('x', -1), refusal('invalid_value', { field: 'limit' }));
  assert.deepEqual(tokenizer.encodeBatch(['Hello', new TextEncoder().encode(' world')]).map((ids) => [...ids]), [[9707], [1879]]);
  assert.equal(tokenizer.tokenId(' world'), 1879);
  assert.equal(tokenizer.tokenId('no such token'), null);
  assert.deepEqual(tokenizer.tokenBytes(1879), new TextEncoder().encode(' world'));
  assert.equal(tokenizer.specialTokens.get('<think>'), 151667);
});

test('the publisher normalizes', () => {
  assert.deepEqual([...publisher.tokenizer.encode('e\u0301')], [...tokenizer.encode('é')]);
  assert.notDeepEqual([...tokenizer.encode('e\u0301')], [...tokenizer.encode('é')]);
});

test('a text in parts, cut inside characters and pairs of surrogates', () => {
  const text = 'naïve 👍🏽 <|im_end|> text';
  const whole = [...tokenizer.encode(text)];
  for (let cut = 0; cut <= text.length; cut++) {
    const chunks = tokenizer.chunks();
    const parts = [...chunks.push(text.slice(0, cut)), ...chunks.push(text.slice(cut)), ...chunks.finish()];
    assert.deepEqual(parts, whole, `cut at ${cut}`);
  }
});

test('a text that grows has the ids of the whole', () => {
  const text = tokenizer.encodedText('user\n');
  const fork = text.copy();
  assert.deepEqual(text.append('\nHi'), { keep: 1, append: Uint32Array.of(271, 13048) });
  assert.deepEqual([...text.ids], [...tokenizer.encode('user\n\nHi')]);
  assert.deepEqual([...fork.ids], [...tokenizer.encode('user\n')]);
});

test('what is no text, no id and no word is refused', () => {
  assert.throws(() => tokenizer.encode(/** @type {any} */ (5)), refusal('invalid_type', { field: 'text', found: 'number' }));
  assert.throws(() => tokenizer.decode([151669], { special: 'skip' }), refusal('token_id_out_of_range', { position: 0, id: 151669, limit: 151669 }));
  assert.throws(() => tokenizer.decode([-1], { special: 'skip' }), refusal('token_id_out_of_range', { id: -1 }));
  assert.throws(() => tokenizer.decode([1.5], { special: 'skip' }), refusal('invalid_type', { field: 'ids[0]' }));
  assert.throws(() => tokenizer.decode([151645], { special: 'refuse' }), refusal('structural_id', { id: 151645 }));
  assert.throws(() => tokenizer.decode([1], /** @type {any} */ ({})), refusal('invalid_value', { field: 'special' }));
});
