// A reply as the model writes it: ids in, events and at the end a message out (contract/template.md, M-90 to M-97).

import { Handle } from './core.js';
import { refuseType } from './errors.js';
import { idsOf } from './tokenizer.js';

/** @typedef {import('./core.js').Core} Core */

/**
 * What a reply says; what is empty is absent.
 * @typedef {object} ReplyEvent
 * @property {'reasoning' | 'content' | 'call' | 'bad_call' | 'stray_text' | 'unexpected' | 'unclosed' | 'ill_formed' | 'end'} kind
 * @property {string} [text]
 * @property {number[]} [ids]
 * @property {string} [name]
 * @property {string} [arguments]
 * @property {string} [reason]
 */

const FAULTS = new Set(['bad_call', 'stray_text', 'unexpected', 'unclosed', 'ill_formed']);

/** Reads one reply; begins in the `state` of the prompt that the model continues. */
export class ReplyParser {
  #core;
  #handle;
  #ended = false;
  /** All ids so far. @type {number[]} */
  ids = [];
  /** The events that say what is wrong with the reply; none for one that can go into a conversation as it is. @type {ReplyEvent[]} */
  faults = [];

  /** @param {Core} core @param {string} state */
  constructor(core, state) {
    if (typeof state !== 'string') refuseType('state', "a state's name", state);
    this.#core = core;
    const { address, length } = core.put(state);
    this.#handle = new Handle(core, 'reply', core.make('reply_new', core.contract, address, length));
  }

  /** Of the template's machine, by name. @returns {string} */
  get state() {
    return this.#core.takeText('reply_state', this.#handle.address);
  }

  /** Whether its last event has been told. */
  get ended() {
    return this.#ended;
  }

  /**
   * What one id says, or several.
   * @param {number | ArrayLike<number>} ids
   * @returns {ReplyEvent[]}
   * @throws {import('./errors.js').Slm2Error} `token_id_out_of_range` and `invalid_type` (nothing of this call was taken), `stream_closed`
   */
  push(ids) {
    const given = idsOf(this.#core, typeof ids === 'number' ? [ids] : ids);
    const { address } = this.#core.putIds(given);
    const events = this.#events(this.#core.takeJson('reply_push', this.#handle.address, address, given.length));
    for (let at = 0; at < given.length; at++) this.ids.push(Number(given[at]));
    return events;
  }

  /**
   * The end, where no token ended the turn: what is open is told, then `end` with the reason `cut`.
   * @returns {ReplyEvent[]}
   */
  finish() {
    return this.#events(this.#core.takeJson('reply_finish', this.#handle.address));
  }

  /** What was said so far, as a message for a conversation; calls that are none are not in it. @returns {Record<string, unknown>} */
  get message() {
    return this.#core.takeJson('reply_message', this.#handle.address);
  }

  /** Let go of it now. */
  dispose() {
    this.#handle.dispose();
  }

  /** @param {ReplyEvent[]} events */
  #events(events) {
    for (const event of events) {
      if (FAULTS.has(event.kind)) this.faults.push(event);
      // What is ill-formed ends it too (M-96).
      if (event.kind === 'end' || event.kind === 'ill_formed') this.#ended = true;
    }
    return events;
  }
}
