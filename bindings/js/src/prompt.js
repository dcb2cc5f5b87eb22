// Prompt2's face: what the model may see, in the order of authority and within the budget (contract/prompt.md).

import { Handle } from './core.js';
import { jsonText } from './json.js';
import { tokensOf } from './template.js';
import { idsOf, onSpecialOf } from './tokenizer.js';

/** @typedef {import('./core.js').Core} Core */
/** @typedef {import('./template.js').Token} Token */

/** The assembler, in one profile. */
export class Prompt {
  #core;
  #profile;

  /** @param {Core} core @param {number} profile */
  constructor(core, profile) {
    this.#core = core;
    this.#profile = profile;
  }

  /**
   * Assemble a request.
   * @param {unknown} request as contract/prompt.md has it, or its JSON text
   * @param {{onSpecial?: import('./tokenizer.js').OnSpecial}} [options] what to do with the text of special tokens outside the policy
   * @returns {Assembly}
   * @throws {import('./errors.js').Slm2Error} a code of contract/prompt.md; no error holds text of the policy
   */
  assemble(request, { onSpecial = 'literal' } = {}) {
    const core = this.#core;
    const policy = onSpecialOf(onSpecial);
    const { address, length } = core.put(jsonText('request', request));
    return new Assembly(core, core.make('assemble', core.contract, this.#profile, policy, address, length));
  }
}

/** A prompt within its budget. Only `inputIds` and the ids of `tokens` hold the policy. */
export class Assembly {
  #core;
  #handle;

  /** @param {Core} core @param {number} address */
  constructor(core, address) {
    this.#core = core;
    this.#handle = new Handle(core, 'assembly', address);
  }

  /** What the model reads. @returns {Uint32Array} */
  get inputIds() {
    return this.#core.takeIds('assembly_ids', this.#handle.address);
  }

  /** For each id its role, part, trust class and byte ranges in the request's texts as given. @returns {Token[]} */
  get tokens() {
    return tokensOf(this.#core.takeJson('assembly_tokens', this.#handle.address));
  }

  /** Of the template's machine, by name; a reply goes on from there. @returns {string} */
  get state() {
    return this.report.state;
  }

  /**
   * What to do with a cache that holds other ids: how many of them stay, and what follows.
   * @param {ArrayLike<number>} cached
   * @returns {{keep: number, append: Uint32Array, lost: number, broken: {part: string, source: string} | null}}
   */
  delta(cached) {
    const given = idsOf(this.#core, cached, 'cached');
    const { address } = this.#core.putIds(given);
    const delta = this.#core.takeJson('assembly_delta', this.#handle.address, address, given.length);
    return { ...delta, append: Uint32Array.from(delta.append) };
  }

  /** What it says about itself without ids: budget, sources, what was removed and why. @returns {Record<string, any>} */
  get report() {
    return this.#core.takeJson('assembly_report', this.#handle.address);
  }

  /** All of it as plain data, the same for equal requests. @returns {Record<string, any>} */
  toJSON() {
    return this.#core.takeJson('assembly_json', this.#handle.address);
  }

  /** Let go of it now. */
  dispose() {
    this.#handle.dispose();
  }
}
