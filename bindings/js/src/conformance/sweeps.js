// Methods over everything there is of a kind, as digests (contract/conformance.md).

import { hex } from './testee.js';

/** @typedef {import('../index.js').Contract} Contract */

const NO_ID = 2 ** 32 - 1;

/** Bytes that are added up, then digested. */
export class Stream {
  #bytes = new Uint8Array(1 << 16);
  #length = 0;

  /** @param {number} count */
  #room(count) {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.#length + count));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }

  /** @param {Uint8Array} bytes */
  bytes(bytes) {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** @param {...number} values as little-endian u32 */
  u32(...values) {
    this.#room(4 * values.length);
    const view = new DataView(this.#bytes.buffer);
    for (const value of values) {
      view.setUint32(this.#length, value, true);
      this.#length += 4;
    }
  }

  /** @param {...number} values as little-endian float64 */
  f64(...values) {
    this.#room(8 * values.length);
    const view = new DataView(this.#bytes.buffer);
    for (const value of values) {
      view.setFloat64(this.#length, value, true);
      this.#length += 8;
    }
  }

  /** SHA-256 of all of it, hex. */
  digest() {
    return sha256(this.#bytes.subarray(0, this.#length));
  }
}

/**
 * SHA-256, hex.
 * @param {Uint8Array} bytes
 */
export async function sha256(bytes) {
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', /** @type {BufferSource} */ (bytes))));
}

/** @type {Record<string, (contract: Contract, params: any) => unknown>} */
export const METHODS = {
  async tokens(contract, { first, last }) {
    const { tokenizer } = contract.profile === 'contract' ? contract : contract.with({ profile: 'contract' });
    const streams = { bytes: new Stream(), decoded: new Stream(), ids: new Stream(), encoded: new Stream() };
    for (let id = first; id <= last; id++) {
      const bytes = tokenizer.tokenBytes(id);
      const decoded = tokenizer.decode([id], { special: 'bytes' });
      const ids = tokenizer.encode(bytes);
      streams.bytes.u32(id, bytes.length);
      streams.bytes.bytes(bytes);
      streams.decoded.u32(id, decoded.length);
      streams.decoded.bytes(decoded);
      streams.ids.u32(tokenizer.tokenId(bytes) ?? NO_ID);
      streams.encoded.u32(ids.length, ...ids);
    }
    const digests = await Promise.all(Object.entries(streams).map(async ([name, stream]) => [name, await stream.digest()]));
    return Object.fromEntries(digests);
  },
  async scalars({ tokenizer }, { first, last }) {
    const stream = new Stream();
    for (let code = first; code <= last; code++) {
      if (code >= 0xd800 && code < 0xe000) continue;
      const character = String.fromCodePoint(code);
      for (const text of [character, `a${character}b`, ` ${character} `, `\n${character}\n`]) {
        const ids = tokenizer.encodeView(text);
        stream.u32(ids.length, ...ids);
      }
    }
    return { sha256: await stream.digest() };
  },
};
