// Tokenizer2's face: text to ids and back (contract/tokenizer.md).

import { Handle } from './core.js';
import { Slm2Error, choice, integer, refuseType } from './errors.js';

/** @typedef {import('./core.js').Core} Core */
/** @typedef {import('./text.js').Text} Text */
/** @typedef {'literal' | 'reject'} OnSpecial */
/** @typedef {{offset: number, id: number, text: string}} Finding offset in bytes of the text's UTF-8 */
/** @typedef {{ids: Uint32Array, starts: Uint32Array, ends: Uint32Array}} Spans */
/** @typedef {{keep: number, append: Uint32Array}} Delta */

const ON_SPECIAL = /** @type {const} */ (['literal', 'reject']);
const UNITS = /** @type {const} */ (['bytes', 'code_points', 'utf16']);
const SPECIAL = /** @type {const} */ (['refuse', 'skip', 'bytes']);
/** The module's word for no id and no count. */
const NONE = 2 ** 32 - 1;

/**
 * @param {unknown} value
 * @returns {number}
 */
export function onSpecialOf(value) {
  return choice('on_special', ON_SPECIAL, value);
}

/**
 * @param {unknown} value
 * @returns {number}
 */
export function specialOf(value) {
  return choice('special', SPECIAL, value);
}

/**
 * Ids of a caller: any array of integers, each of which fits in 32 bits.
 * @param {Core} core
 * @param {unknown} ids
 * @param {string} [field]
 * @returns {ArrayLike<number>}
 */
export function idsOf(core, ids, field = 'ids') {
  if (ids instanceof Uint32Array) return ids;
  const list = /** @type {ArrayLike<number>} */ (ids);
  if (!Array.isArray(ids) && !(ArrayBuffer.isView(ids) && 'length' in ids)) refuseType(field, 'an array of integers', ids);
  for (let at = 0; at < list.length; at++) {
    const id = list[at];
    if (typeof id !== 'number' || !Number.isInteger(id)) refuseType(`${field}[${at}]`, 'an integer', id);
    if (id < 0 || id > NONE) throw new Slm2Error('token_id_out_of_range', { position: at, id, limit: core.tokenLimit });
  }
  return list;
}

/** Text to ids and back, for one profile. No text can become the id of a special token, except through `encodeTrusted`. */
export class Tokenizer {
  #core;
  #profile;
  #info;

  /**
   * @param {Core} core
   * @param {number} profile
   * @param {{vocabulary_size: number, special_tokens: [number, string][]}} info
   */
  constructor(core, profile, info) {
    this.#core = core;
    this.#profile = profile;
    this.#info = info;
  }

  /** Number of plain tokens; special tokens have higher ids. */
  get vocabularySize() {
    return this.#info.vocabulary_size;
  }

  /** Text of each special token to its id. @returns {Map<string, number>} */
  get specialTokens() {
    return new Map(this.#info.special_tokens.map(([id, text]) => [text, id]));
  }

  /**
   * Ids of untrusted text.
   * @param {Text} text
   * @param {{onSpecial?: OnSpecial}} [options] what to do where the text of a special token stands in it
   * @returns {Uint32Array}
   */
  encode(text, { onSpecial = 'literal' } = {}) {
    const { address, length } = this.#core.put(text);
    return this.#core.takeIds('encode', this.#core.contract, this.#profile, onSpecialOf(onSpecial), address, length);
  }

  /**
   * The ids of {@link Tokenizer#encode} without a copy: a view of the module's memory, good until the next call of anything.
   * @param {Text} text
   * @param {{onSpecial?: OnSpecial}} [options]
   * @returns {Uint32Array}
   */
  encodeView(text, { onSpecial = 'literal' } = {}) {
    const { address, length } = this.#core.put(text);
    return this.#core.takeIdsView('encode', this.#core.contract, this.#profile, onSpecialOf(onSpecial), address, length);
  }

  /**
   * Write the ids of {@link Tokenizer#encode} to the beginning of an array.
   * @param {Text} text
   * @param {Uint32Array} out
   * @returns {number} how many were written
   * @throws {Slm2Error} `output_too_small`, `invalid_type`
   */
  encodeInto(text, out) {
    if (!(out instanceof Uint32Array)) refuseType('out', 'a Uint32Array', out);
    const ids = this.encodeView(text);
    if (ids.length > out.length) throw new Slm2Error('output_too_small', { needed: ids.length, found: out.length });
    out.set(ids);
    return ids.length;
  }

  /**
   * How many ids {@link Tokenizer#encode} gives, without making them.
   * @param {Text} text
   * @returns {number}
   */
  count(text) {
    const { address, length } = this.#core.put(text);
    return this.#core.number('count', this.#core.contract, this.#profile, address, length);
  }

  /**
   * The count where it is not more than `limit`; else null, and the rest of the text is not encoded.
   * @param {Text} text
   * @param {number} limit
   * @returns {number | null}
   */
  countUntil(text, limit) {
    if (typeof limit === 'number' && limit < 0) throw new Slm2Error('invalid_value', { field: 'limit', expected: '0 or more', found: String(limit) });
    const most = Math.min(integer('limit', limit, 0, Number.MAX_SAFE_INTEGER), NONE - 1);
    const { address, length } = this.#core.put(text);
    const count = this.#core.number('count_until', this.#core.contract, this.#profile, address, length, most);
    return count === NONE ? null : count;
  }

  /**
   * The ids of {@link Tokenizer#encode}, each with the range of the text that it came from.
   * @param {Text} text
   * @param {{unit?: 'bytes' | 'code_points' | 'utf16', onSpecial?: OnSpecial}} [options] `utf16` counts as strings of JavaScript do
   * @returns {Spans}
   */
  encodeSpans(text, { unit = 'bytes', onSpecial = 'literal' } = {}) {
    const core = this.#core;
    const { address, length } = core.put(text);
    const found = core.take(12, 'encode_spans', core.contract, this.#profile, onSpecialOf(onSpecial), choice('unit', UNITS, unit), address, length);
    return columns(core, found);
  }

  /**
   * The ids of each text, in their order.
   * @param {Iterable<Text>} texts
   * @returns {Uint32Array[]}
   */
  encodeBatch(texts) {
    if (typeof texts === 'string' || ArrayBuffer.isView(texts)) refuseType('texts', 'several texts', texts);
    return Array.from(texts, (text) => this.encode(text));
  }

  /** An encoder for a text that arrives in parts. */
  chunks() {
    return new ChunkEncoder(this.#core, this.#profile);
  }

  /**
   * A text with its ids, to which more can be appended.
   * @param {Text} [text]
   */
  encodedText(text = '') {
    const encoded = EncodedText.empty(this.#core, this.#profile);
    encoded.append(text);
    return encoded;
  }

  /**
   * Ids of text in which the text of a special token **is** that token: for tools and tests, never for what users write.
   * @param {Text} text
   * @returns {Uint32Array}
   */
  encodeTrusted(text) {
    const { address, length } = this.#core.put(text);
    return this.#core.takeIds('encode_trusted', this.#core.contract, this.#profile, address, length);
  }

  /**
   * Where the texts of special tokens stand in a text: leftmost, longest, not overlapping.
   * @param {Text} text
   * @returns {Finding[]}
   */
  findSpecial(text) {
    const core = this.#core;
    const { address, length } = core.put(text);
    const { ids, starts } = columns(core, core.take(12, 'find_special', core.contract, address, length));
    const texts = new Map(this.#info.special_tokens);
    return Array.from(ids, (id, at) => ({ offset: Number(starts[at]), id, text: /** @type {string} */ (texts.get(id)) }));
  }

  /**
   * The bytes of the tokens, which need not be UTF-8.
   * @param {ArrayLike<number>} ids
   * @param {{special: 'refuse' | 'skip' | 'bytes'}} options what becomes of ids of special tokens
   * @returns {Uint8Array}
   */
  decode(ids, { special }) {
    const policy = specialOf(special);
    const given = idsOf(this.#core, ids);
    const { address } = this.#core.putIds(given);
    return this.#core.takeBytes('decode', this.#core.contract, policy, address, given.length);
  }

  /**
   * Bytes of a plain token, or text of a special one.
   * @param {number} tokenId
   * @returns {Uint8Array}
   */
  tokenBytes(tokenId) {
    if (typeof tokenId !== 'number' || !Number.isInteger(tokenId)) refuseType('token_id', 'an integer', tokenId);
    const [id = 0] = Array.from(idsOf(this.#core, [tokenId]));
    return this.#core.takeBytes('token_bytes', this.#core.contract, id);
  }

  /**
   * The plain token with exactly these bytes, by the vocabulary and not by encoding; null where there is none.
   * @param {Text} text
   * @returns {number | null}
   */
  tokenId(text) {
    const { address, length } = this.#core.put(text);
    const id = this.#core.number('token_id', this.#core.contract, address, length);
    return id === NONE ? null : id;
  }
}

/**
 * Triples of the module as three arrays.
 * @param {Core} core
 * @param {{address: number, count: number}} found
 * @returns {Spans}
 */
function columns(core, { address, count }) {
  const rows = new Uint32Array(core.u8.buffer, address, 3 * count);
  const column = (/** @type {number} */ first) => Uint32Array.from({ length: count }, (_, at) => /** @type {number} */ (rows[3 * at + first]));
  return { ids: column(0), starts: column(1), ends: column(2) };
}

const HIGH_SURROGATE = /[\ud800-\udbff]$/;

/** Encodes a text that arrives in parts, cut anywhere, inside a character too (contract/tokenizer.md, T-15). */
export class ChunkEncoder {
  #core;
  #handle;
  /** A half of a pair of surrogates whose other half may come with the next part (T-2). */
  #surrogate = '';

  /** @param {Core} core @param {number} profile */
  constructor(core, profile) {
    this.#core = core;
    this.#handle = new Handle(core, 'chunks', core.make('chunks_new', core.contract, profile));
  }

  /** Bytes that wait for what comes after them. */
  get pending() {
    return this.#core.number('chunks_pending', this.#handle.address);
  }

  /**
   * The ids that are certain with this part.
   * @param {Text} part
   * @returns {Uint32Array}
   */
  push(part) {
    if (typeof part !== 'string') {
      const held = this.#pushed(this.#surrogate);
      this.#surrogate = '';
      return joined(held, this.#pushed(part));
    }
    let text = this.#surrogate + part;
    this.#surrogate = HIGH_SURROGATE.test(text) ? text.slice(-1) : '';
    if (this.#surrogate !== '') text = text.slice(0, -1);
    return this.#pushed(text);
  }

  /**
   * End the text: the ids of what waited.
   * @returns {Uint32Array}
   */
  finish() {
    const rest = this.#surrogate === '' ? new Uint32Array(0) : this.#pushed(this.#surrogate);
    this.#surrogate = '';
    return joined(rest, this.#core.takeIds('chunks_finish', this.#handle.address));
  }

  /** Let go of it now. */
  dispose() {
    this.#handle.dispose();
  }

  /** @param {Text} part */
  #pushed(part) {
    const { address, length } = this.#core.put(part);
    return this.#core.takeIds('chunks_push', this.#handle.address, address, length);
  }
}

/** @param {Uint32Array} first @param {Uint32Array} second */
function joined(first, second) {
  if (first.length === 0) return second;
  const both = new Uint32Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** A text with its ids, which grows at its end (contract/tokenizer.md, T-16): they are always those of all the text in one piece. */
export class EncodedText {
  #core;
  #handle;
  /** @type {number[]} */
  #ids;

  /** @param {Core} core @param {number} address @param {number[]} ids */
  constructor(core, address, ids) {
    this.#core = core;
    this.#handle = new Handle(core, 'text', address);
    this.#ids = ids;
  }

  /** @param {Core} core @param {number} profile */
  static empty(core, profile) {
    return new EncodedText(core, core.make('text_new', core.contract, profile), []);
  }

  /** How many ids the text has. */
  get length() {
    return this.#ids.length;
  }

  /** A copy of the ids. */
  get ids() {
    return Uint32Array.from(this.#ids);
  }

  /**
   * Append text; it costs what is new and the piece before it.
   * @param {Text} text
   * @returns {Delta}
   */
  append(text) {
    const core = this.#core;
    const { address, length } = core.put(text);
    const ids = core.takeIds('text_append', this.#handle.address, address, length, core.cell(8));
    const keep = core.view.getUint32(core.cell(8), true);
    this.#ids.length = keep;
    for (const id of ids) this.#ids.push(id);
    return { keep, append: ids };
  }

  /** Another text that goes on from here; neither changes the other. */
  copy() {
    return new EncodedText(this.#core, this.#core.make('text_copy', this.#handle.address), [...this.#ids]);
  }

  /** Let go of it now. */
  dispose() {
    this.#handle.dispose();
  }
}
