// One generation: from logits to text, with the reason why it ended (contract/sampling.md, S-80).

import { Handle } from './core.js';
import { checkOptions, integer } from './errors.js';
import { jsonText } from './json.js';
import { SAMPLE_BYTES, WIDTH, maskOf, readSample, readTop, rowOf } from './sampling.js';
import { idsOf, specialOf } from './tokenizer.js';

/** @typedef {import('./core.js').Core} Core */
/** @typedef {import('./sampling.js').Sample} Sample */
/** @typedef {import('./adapters/model.js').Logits} Logits */
/** @typedef {'StopToken' | 'MaxTokens' | 'StopString'} Limit */
/** @typedef {Limit | 'FatalError'} Reason */
/** @typedef {{sample: Sample, text: string, reason: Reason | null}} Step `text`: what became complete; `reason`: why the generation ended with it */

/**
 * @typedef {object} GenerationOptions
 * @property {import('./stream.js').SpecialPolicy} special what becomes of ids of special tokens that do not stop
 * @property {number} [width] logits of a row
 */

/**
 * A generation so far, or as it ended.
 * @typedef {object} GenerationResult
 * @property {Uint32Array} ids all that were drawn, one that stopped it included
 * @property {string} text all that was delivered
 * @property {Reason | null} reason why it ended
 * @property {Limit | null} stoppedBy the limit that was met, also where the reason is `FatalError`
 * @property {string | null} stopString
 * @property {Uint8Array} pending bytes that came and are no text
 * @property {string} profile
 */

/** @type {readonly (Reason | null)[]} */
const REASONS = [null, 'StopToken', 'MaxTokens', 'StopString', 'FatalError'];

/** Draws ids until something ends it; their text comes as soon as it is complete. */
export class Generation {
  #core;
  #handle;
  #sampler;
  #steps = 0;

  /**
   * @param {Core} core
   * @param {unknown} config
   * @param {ArrayLike<number>} prompt
   * @param {GenerationOptions} options
   */
  constructor(core, config, prompt, options) {
    checkOptions(options, ['special', 'width']);
    const { special, width = WIDTH } = options;
    const policy = specialOf(special);
    integer('width', width, 1, 2 ** 24);
    const ids = idsOf(core, prompt, 'prompt');
    const settings = core.put(jsonText('config', config));
    const history = core.putIds(ids);
    this.#core = core;
    const where = [settings.address, settings.length, history.address, ids.length, width];
    this.#handle = new Handle(core, 'generation', core.make('generation_new', core.contract, policy, ...where));
    this.#sampler = core.make('generation_sampler', this.#handle.address);
  }

  /** How many ids were drawn. */
  get steps() {
    return this.#steps;
  }

  /**
   * Draw an id and deliver its text.
   * @param {Logits} logits
   * @param {{allowed?: ArrayBuffer | ArrayBufferView | boolean[] | null, top?: number}} [options] as of {@link import('./sampling.js').Sampler#sample}
   * @returns {Step}
   */
  step(logits, { allowed = null, top = 0 } = {}) {
    const core = this.#core;
    const handle = this.#handle.address;
    const row = rowOf(logits);
    const mask = maskOf(core, allowed, row.length);
    const { address } = core.putRow(row);
    const drawn = core.reserve('sample', SAMPLE_BYTES + 8).address;
    const reason = drawn + SAMPLE_BYTES;
    const most = integer('top', top, 0, 2 ** 24);
    const text = core.takeText('generation_step', handle, address, row.length, mask.address, mask.length, most, drawn, reason);
    this.#steps += 1;
    const ended = REASONS[core.view.getUint32(reason, true)] ?? null;
    return { sample: { ...readSample(core, drawn), top: top === 0 ? [] : readTop(core, this.#sampler) }, text, reason: ended };
  }

  /** The generation so far. @returns {GenerationResult} */
  get result() {
    const { ids, stopped_by, stop_string, pending, ...result } = this.#core.takeJson('generation_result', this.#handle.address);
    const bytes = Uint8Array.from(pending.match(/../g) ?? [], (/** @type {string} */ pair) => parseInt(pair, 16));
    return { ...result, ids: Uint32Array.from(ids), stoppedBy: stopped_by, stopString: stop_string, pending: bytes };
  }

  /** Let go of it now. */
  dispose() {
    this.#handle.dispose();
  }
}
