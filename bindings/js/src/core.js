// The module, one instance: memory, calls, results, errors. The functions are those of crates/capi/include/slm2.h.

import { Slm2Error } from './errors.js';
import { fromBytes, toBytes } from './text.js';

/** @typedef {import('./text.js').Text} Text */
/** @typedef {Record<string, any>} Exports */

/** What a call says it became of it. */
const REFUSED = 1;
const TOO_SMALL = 2;
/** Results up to that many bytes are written where the host has room for them; larger ones wait in the module. */
const OUT_BYTES = 1 << 16;
/** Memory for what goes in is kept from call to call up to so many bytes. */
const KEPT_BYTES = 1 << 20;
/** Numbers that a call hands back beside its result. */
const CELL_BYTES = 128;

const encoder = new TextEncoder();

/** Memory of the module that grows with what is put there. */
class Slot {
  address = 0;
  capacity = 0;
  /** Of what was put there last. */
  length = 0;
}

/** One instance of the module on one thread, with one opened artifact. */
export class Core {
  #memory;
  #context;
  #cell;
  #out;
  #u8 = new Uint8Array(0);
  #view = new DataView(new ArrayBuffer(0));
  #closed = false;
  #freed;
  #borrowed;
  /** The module's functions, for those who know what they do. */
  exports;
  /** Whether other threads are in the same memory. */
  shared;
  /** The address of the opened artifact. */
  contract;
  /** Ids with a meaning are below it. */
  tokenLimit = 0;

  /**
   * @param {Exports} exports
   * @param {WebAssembly.Memory} memory
   * @param {boolean} shared
   * @param {number} [contract] one that another core of this memory opened, and frees
   */
  constructor(exports, memory, shared, contract = 0) {
    this.#borrowed = contract !== 0;
    this.contract = contract;
    this.exports = exports;
    this.#memory = memory;
    this.shared = shared;
    this.#context = exports.slm2_context_new();
    this.#cell = this.alloc(CELL_BYTES);
    this.#out = this.alloc(OUT_BYTES);
    this.#freed = new FinalizationRegistry(/** @param {{free: string, address: number}} held */ ({ free, address }) => this.#free(free, address));
  }

  /** Another context over the same artifact, for this thread too. */
  another() {
    const other = new Core(this.exports, this.#memory, this.shared, this.contract);
    other.tokenLimit = this.tokenLimit;
    return other;
  }

  /** Bytes of the module's memory now. */
  get bytes() {
    return this.#memory.buffer.byteLength;
  }

  /** Where a call writes a number. @param {number} [at] in bytes from the first */
  cell(at = 0) {
    return this.#cell + at;
  }

  /**
   * Memory of the module.
   * @param {number} length
   * @returns {number}
   */
  alloc(length) {
    const address = this.exports.slm2_alloc(length);
    if (address === 0) throw new RangeError(`no memory for ${length} bytes`);
    return address;
  }

  /** All of the memory; not to be kept, since it moves when memory grows. */
  get u8() {
    if (this.#u8.buffer !== this.#memory.buffer) {
      this.#u8 = new Uint8Array(this.#memory.buffer);
      this.#view = new DataView(this.#memory.buffer);
    }
    return this.#u8;
  }

  get view() {
    return this.u8 && this.#view;
  }

  // ---- calls ----

  /**
   * Call a function whose first argument is the context.
   * @param {string} name without its beginning `slm2_`
   * @param {...(number | bigint)} arguments_
   */
  run(name, ...arguments_) {
    const status = this.#call(name, arguments_);
    if (status !== 0) this.#refuse(name, status);
  }

  /**
   * Call a function that ends with address, capacity and count of a result; where the result is.
   * @param {number} size of an element, in bytes
   * @param {string} name
   * @param {...(number | bigint)} arguments_
   * @returns {{address: number, count: number}}
   */
  take(size, name, ...arguments_) {
    const status = this.#call(name, [...arguments_, this.#out, Math.floor(OUT_BYTES / size), this.#cell]);
    if (status === 0) return { address: this.#out, count: this.view.getUint32(this.#cell, true) };
    if (status !== TOO_SMALL) this.#refuse(name, status);
    this.exports.slm2_result_view(this.#context, this.#cell, this.#cell + 4);
    return { address: this.view.getUint32(this.#cell, true), count: this.view.getUint32(this.#cell + 4, true) / size };
  }

  /**
   * A result of bytes, as a copy.
   * @param {string} name
   * @param {...(number | bigint)} arguments_
   */
  takeBytes(name, ...arguments_) {
    const { address, count } = this.take(1, name, ...arguments_);
    return this.copied(address, count);
  }

  /**
   * A result of UTF-8.
   * @param {string} name
   * @param {...(number | bigint)} arguments_
   */
  takeText(name, ...arguments_) {
    const { address, count } = this.take(1, name, ...arguments_);
    return this.text(address, count);
  }

  /**
   * A result of JSON.
   * @param {string} name
   * @param {...(number | bigint)} arguments_
   * @returns {any}
   */
  takeJson(name, ...arguments_) {
    return JSON.parse(this.takeText(name, ...arguments_));
  }

  /**
   * A result of ids: a view of the module's memory, good until the next call.
   * @param {string} name
   * @param {...(number | bigint)} arguments_
   */
  takeIdsView(name, ...arguments_) {
    const { address, count } = this.take(4, name, ...arguments_);
    return new Uint32Array(this.#memory.buffer, address, count);
  }

  /**
   * A result of ids, as an array of the caller's own.
   * @param {string} name
   * @param {...(number | bigint)} arguments_
   * @returns {Uint32Array}
   */
  takeIds(name, ...arguments_) {
    // Of a shared memory slice() gives shared memory; the constructor does not.
    return new Uint32Array(this.takeIdsView(name, ...arguments_));
  }

  /**
   * A handle of a call that writes its address.
   * @param {string} name
   * @param {...(number | bigint)} arguments_
   */
  make(name, ...arguments_) {
    this.run(name, ...arguments_, this.#cell);
    return this.view.getUint32(this.#cell, true);
  }

  /**
   * A number of type size_t that a call writes.
   * @param {string} name
   * @param {...(number | bigint)} arguments_
   */
  number(name, ...arguments_) {
    return this.make(name, ...arguments_);
  }

  // ---- memory ----

  /** @param {number} address @param {number} length */
  copied(address, length) {
    return new Uint8Array(this.u8.subarray(address, address + length));
  }

  /** @param {number} address @param {number} length */
  text(address, length) {
    const bytes = this.u8.subarray(address, address + length);
    return fromBytes(this.shared ? new Uint8Array(bytes) : bytes); // a decoder takes no shared memory
  }

  /** Slots for what goes in, by name: a call may need more than one. @type {Map<string, Slot>} */
  #slots = new Map();

  /**
   * Room for something that goes in.
   * @param {string} name
   * @param {number} length in bytes
   * @returns {Slot}
   */
  reserve(name, length) {
    let slot = this.#slots.get(name);
    if (slot === undefined) this.#slots.set(name, (slot = new Slot()));
    if (slot.capacity < length || (slot.capacity > KEPT_BYTES && length <= KEPT_BYTES)) {
      this.exports.slm2_free(slot.address, slot.capacity);
      slot.capacity = 0;
      const capacity = length > KEPT_BYTES ? length : Math.max(256, 2 ** Math.ceil(Math.log2(length)));
      slot.address = this.alloc(capacity);
      slot.capacity = capacity;
    }
    slot.length = length;
    return slot;
  }

  /**
   * Put text or bytes.
   * @param {Text} text
   * @param {string} [name]
   * @returns {Slot}
   */
  put(text, name = 'text') {
    if (typeof text !== 'string') {
      const bytes = toBytes(text);
      const slot = this.reserve(name, bytes.length);
      this.u8.set(bytes, slot.address);
      return slot;
    }
    // An encoder writes to no shared memory.
    if (this.shared) return this.put(encoder.encode(text), name);
    return this.#putString(text, name);
  }

  /**
   * A string straight into the memory: nothing is written twice where it is ASCII, or short.
   * @param {string} text
   * @param {string} name
   */
  #putString(text, name) {
    const slot = this.reserve(name, text.length < KEPT_BYTES / 3 ? 3 * text.length : text.length);
    const { read, written } = encoder.encodeInto(text, this.u8.subarray(slot.address, slot.address + slot.capacity));
    if (read === text.length) {
      slot.length = written;
      return slot;
    }
    return this.put(encoder.encode(text), name);
  }

  /**
   * Put 32-bit integers.
   * @param {ArrayLike<number>} ids
   * @param {string} [name]
   */
  putIds(ids, name = 'ids') {
    const slot = this.reserve(name, 4 * ids.length);
    new Uint32Array(this.#memory.buffer, slot.address, ids.length).set(ids);
    return slot;
  }

  /**
   * Put a row of logits.
   * @param {Float32Array} row
   */
  putRow(row) {
    const slot = this.reserve('row', 4 * row.length);
    new Float32Array(this.#memory.buffer, slot.address, row.length).set(row);
    return slot;
  }

  // ---- lives ----

  /**
   * Free a handle when its owner is gone.
   * @param {object} owner
   * @param {string} free the function
   * @param {number} address
   */
  own(owner, free, address) {
    this.#freed.register(owner, { free, address }, owner);
  }

  /**
   * Free a handle now.
   * @param {object} owner
   * @param {string} free
   * @param {number} address
   */
  release(owner, free, address) {
    this.#freed.unregister(owner);
    this.#free(free, address);
  }

  /** @param {string} free @param {number} address */
  #free(free, address) {
    if (!this.#closed) this.exports[`slm2_${free}`](address);
  }

  /** Let go of everything, and of the artifact where this is what opened it. */
  close() {
    if (this.#closed) return;
    for (const { address, capacity } of this.#slots.values()) this.exports.slm2_free(address, capacity);
    this.exports.slm2_free(this.#out, OUT_BYTES);
    this.exports.slm2_free(this.#cell, CELL_BYTES);
    this.exports.slm2_context_free(this.#context);
    if (!this.#borrowed) this.exports.slm2_contract_free(this.contract);
    this.#closed = true;
  }

  // ---- below ----

  /** @param {string} name @param {(number | bigint)[]} arguments_ */
  #call(name, arguments_) {
    if (this.#closed) throw new Slm2Error('disposed', { object: 'contract' });
    return this.exports[`slm2_${name}`](this.#context, ...arguments_);
  }

  /** @param {string} name @param {number} status @returns {never} */
  #refuse(name, status) {
    if (status !== REFUSED && status !== TOO_SMALL) throw new Error(`slm2_${name} ended with the status ${status}`);
    const read = (/** @type {number} */ address, /** @type {number} */ capacity) => this.exports.slm2_error(this.#context, address, capacity, this.#cell);
    read(0, 0);
    const slot = this.reserve('error', this.view.getUint32(this.#cell, true));
    read(slot.address, slot.capacity);
    throw Slm2Error.fromJSON(parseExact(this.text(slot.address, slot.length)));
  }
}

/**
 * JSON whose integers stay what they are: those that a double does not hold become bigints.
 * @param {string} text
 * @returns {any}
 */
function parseExact(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![.\deE])/g, (token) => (token.startsWith('"') ? token : `{"\\u0000": "${token}"}`));
  const exact = (/** @type {string} */ digits) => (Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits));
  return JSON.parse(marked, (_, value) => (value !== null && typeof value === 'object' && '\0' in value ? exact(value['\0']) : value));
}

/** Something of the module that its owner frees: when it says so, or when it is gone. */
export class Handle {
  #core;
  #free;
  #address;
  #name;

  /**
   * @param {Core} core
   * @param {string} name of the thing, as the functions have it
   * @param {number} address
   */
  constructor(core, name, address) {
    this.#core = core;
    this.#free = `${name}_free`;
    this.#address = address;
    this.#name = name;
    core.own(this, this.#free, address);
  }

  /** Where it is. */
  get address() {
    if (this.#address === 0) throw new Slm2Error('disposed', { object: this.#name });
    return this.#address;
  }

  dispose() {
    if (this.#address === 0) return;
    this.#core.release(this, this.#free, this.#address);
    this.#address = 0;
  }
}
