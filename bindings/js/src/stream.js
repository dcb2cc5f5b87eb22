// The streaming decoder's face: ids to text, strictly (contract/stream.md).

import { Handle } from './core.js';
import { idsOf, specialOf } from './tokenizer.js';

/** @typedef {import('./core.js').Core} Core */
/** @typedef {'refuse' | 'skip' | 'bytes'} SpecialPolicy what becomes of ids of special tokens */

/** Text from ids as they come: as soon as a scalar value is complete, never earlier or later. Nothing is replaced by U+FFFD. */
export class StreamDecoder {
  #core;
  #handle;

  /** @param {Core} core @param {SpecialPolicy} special */
  constructor(core, special) {
    this.#core = core;
    this.#handle = new Handle(core, 'stream', core.make('stream_new', core.contract, specialOf(special)));
  }

  /** Bytes that have come and were not delivered: an open scalar value, or what ended the stream. */
  get pending() {
    return this.#core.takeBytes('stream_pending', this.#handle.address);
  }

  /**
   * The text that became complete with one id, or with several.
   * @param {number | ArrayLike<number>} ids
   * @returns {string}
   * @throws {import('./errors.js').Slm2Error} `ill_formed_text` (ends the stream; its field `text` is what became complete in this
   *   call), `token_id_out_of_range`, `structural_id` and `invalid_type` (nothing of this call was taken), `stream_closed`
   */
  push(ids) {
    const given = idsOf(this.#core, typeof ids === 'number' ? [ids] : ids);
    const { address } = this.#core.putIds(given);
    return this.#core.takeText('stream_push', this.#handle.address, address, given.length);
  }

  /** End the stream: `unfinished_text` where a scalar value is open. */
  finish() {
    this.#core.run('stream_finish', this.#handle.address);
  }

  /** Let go of it now. */
  dispose() {
    this.#handle.dispose();
  }
}
