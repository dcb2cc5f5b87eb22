// A conversation that keeps its cache: messages in, what to keep and what to append out (contract/template.md, M-100 to M-107).

import { Handle } from './core.js';
import { checkOptions, refuseType } from './errors.js';
import { jsonText } from './json.js';
import { idsOf } from './tokenizer.js';

/** @typedef {import('./core.js').Core} Core */
/** @typedef {'reasoning' | 'rewritten' | 'generation_prompt' | 'later'} LossReason */
/** @typedef {{message: number, ids: number, reason: LossReason}} Loss what a turn lost of the cache */

/**
 * What to do with a cache.
 * @typedef {object} Delta
 * @property {number} keep how many ids of the cache stay: cut it there
 * @property {Uint32Array} append the ids that follow
 * @property {Loss[]} lost for each turn of which something was cut off, how much and why
 * @property {string} state of the template's machine after the last id, by name: a reply goes on from there
 */

/**
 * @typedef {object} SessionOptions
 * @property {readonly unknown[] | null} [tools] JSON schemas; they stay for the session's life
 * @property {boolean | null} [enableThinking] of each generation prompt
 * @property {boolean} [preserveThinking] a reply that came by its ids then keeps them, and the cache only ever grows
 */

const OPTIONS = /** @type {const} */ ({ tools: 'tools', enableThinking: 'enable_thinking', preserveThinking: 'preserve_thinking' });

/** One conversation in one profile. A call that fails leaves it as it was. */
export class Session {
  #core;
  #handle;

  /** @param {Core} core @param {number} address */
  constructor(core, address) {
    this.#core = core;
    this.#handle = new Handle(core, 'session', address);
  }

  /**
   * @param {Core} core
   * @param {number} profile
   * @param {SessionOptions | string} options
   */
  static begin(core, profile, options) {
    const { address, length } = core.put(optionsText(options));
    return new Session(core, core.make('session_new', core.contract, profile, address, length));
  }

  /**
   * @param {Core} core
   * @param {Uint8Array | string} checkpoint
   */
  static restore(core, checkpoint) {
    const { address, length } = core.put(checkpoint);
    return new Session(core, core.make('session_restore', core.contract, address, length));
  }

  /** The conversation so far; replies are in it as they were read. @returns {Record<string, unknown>[]} */
  get messages() {
    return this.#core.takeJson('session_messages', this.#handle.address);
  }

  /** What the model's cache holds when every delta was followed. @returns {Uint32Array} */
  get cachedIds() {
    return this.#core.takeIds('session_cached_ids', this.#handle.address);
  }

  /**
   * Add messages and ask for a reply.
   * @param {unknown} messages an array of them, or its JSON text
   * @param {{enableThinking?: boolean | null}} [options] for this generation prompt
   * @returns {Delta}
   */
  extend(messages, { enableThinking = null } = {}) {
    if (enableThinking !== null && typeof enableThinking !== 'boolean') refuseType('enable_thinking', 'boolean', enableThinking);
    const { address, length } = this.#core.put(jsonText('messages', messages));
    const thinking = enableThinking === null ? -1 : Number(enableThinking);
    return this.#delta('session_extend', address, length, thinking);
  }

  /**
   * Add the reply to the last prompt by its ids, which are then in the cache.
   * @param {ArrayLike<number>} ids
   * @returns {import('./reply.js').ReplyEvent[]}
   */
  reply(ids) {
    const given = idsOf(this.#core, ids);
    const { address } = this.#core.putIds(given);
    return this.#core.takeJson('session_reply', this.#handle.address, address, given.length);
  }

  /**
   * The prompt up to the last turn in the form that it has once a user turn follows; the session does not change.
   * @returns {Delta}
   */
  settled() {
    return this.#delta('session_settled');
  }

  /**
   * Bring the cache into the form of {@link Session#settled}.
   * @returns {Delta}
   */
  settle() {
    return this.#delta('session_settle');
  }

  /** Another session that goes on from here; neither changes the other. */
  fork() {
    return new Session(this.#core, this.#core.make('session_fork', this.#handle.address));
  }

  /** A checkpoint: JSON text as UTF-8, with its digest. @returns {Uint8Array} */
  save() {
    return this.#core.takeBytes('session_save', this.#handle.address);
  }

  /** Let go of it now. */
  dispose() {
    this.#handle.dispose();
  }

  /** @param {string} name @param {...number} arguments_ @returns {Delta} */
  #delta(name, ...arguments_) {
    const { keep, append, lost, state } = this.#core.takeJson(name, this.#handle.address, ...arguments_);
    return { keep, append: Uint32Array.from(append), lost, state };
  }
}

/** @param {SessionOptions | string} options */
function optionsText(options) {
  if (typeof options === 'string') return options;
  checkOptions(options, Object.keys(OPTIONS));
  const named = Object.entries(options).map(([name, value]) => [OPTIONS[/** @type {keyof typeof OPTIONS} */ (name)], value]);
  return jsonText('options', Object.fromEntries(named));
}
