// Prompt2's face: what the model may see, in the order of authority and within the budget (contract/prompt.md).

import { Handle } from './core.js';
import { jsonText } from './json.js';
import { onSpecialOf } from './tokenizer.js';

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

  /** All of it as plain data, the same for equal requests. @returns {Record<string, any>} */
  toJSON() {
    return this.#core.takeJson('assembly_json', this.#handle.address);
  }

  /** Let go of it now. */
  dispose() {
    this.#handle.dispose();
  }
}
