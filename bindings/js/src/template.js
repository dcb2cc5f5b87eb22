// Template2's face: a conversation becomes the ids of a prompt, each with its origin (contract/template.md).

import { Handle } from './core.js';
import { checkOptions } from './errors.js';
import { jsonText } from './json.js';
import { onSpecialOf } from './tokenizer.js';

/** @typedef {import('./core.js').Core} Core */
/** @typedef {import('./tokenizer.js').OnSpecial} OnSpecial */
/** @typedef {{source: string, offset: number, id: number, text: string}} Finding text of a special token in a caller's field; it was encoded as plain text */
/** @typedef {{source: string, start: number, end: number}} Range bytes of a caller's field */

/** @typedef {{text: string, findings: Finding[], policy_findings: number, dropped_reasoning: number[], state: string, path: string[]}} Report */

/**
 * An id and where it comes from.
 * @typedef {object} Token
 * @property {number} id
 * @property {string} role
 * @property {string} part
 * @property {'program' | 'policy' | 'application' | 'untrusted'} trust
 * @property {number | null} message
 * @property {Range[]} ranges
 */

/**
 * @typedef {object} RenderOptions
 * @property {readonly unknown[] | null} [tools] JSON schemas
 * @property {boolean | null} [enableThinking] false closes the reasoning in the generation prompt; true and null leave it to the model
 * @property {boolean} [addGenerationPrompt] whether the prompt ends with the head of an assistant turn
 * @property {boolean | 'content' | 'reasoning_content'} [continueFinalMessage] ends the prompt inside the last message
 * @property {boolean} [preserveThinking] keep the reasoning of every assistant turn; the ids are not the publisher's then
 * @property {OnSpecial} [onSpecial] what to do with the text of special tokens in callers' text
 */

const OPTIONS = /** @type {const} */ ({
  tools: 'tools',
  enableThinking: 'enable_thinking',
  addGenerationPrompt: 'add_generation_prompt',
  continueFinalMessage: 'continue_final_message',
  preserveThinking: 'preserve_thinking',
});

/** The artifact's chat template, in one profile. */
export class Template {
  #core;
  #profile;

  /** @param {Core} core @param {number} profile */
  constructor(core, profile) {
    this.#core = core;
    this.#profile = profile;
  }

  /**
   * Render a conversation.
   * @param {readonly unknown[]} messages objects with `role`, `content` and, of an assistant, `reasoning_content` and `tool_calls`
   * @param {RenderOptions} [options]
   * @returns {Rendering}
   * @throws {import('./errors.js').Slm2Error} a code of contract/template.md
   */
  render(messages, options = {}) {
    const { onSpecial = 'literal', ...given } = options;
    checkOptions(given, Object.keys(OPTIONS));
    const named = Object.entries(given).map(([name, value]) => [OPTIONS[/** @type {keyof typeof OPTIONS} */ (name)], value]);
    return this.renderRequest({ messages, ...Object.fromEntries(named) }, { onSpecial });
  }

  /**
   * Render a request: an object with `messages` and whatever else contract/template.md has, or its JSON text, which keeps how numbers
   * are written.
   * @param {unknown} request
   * @param {{onSpecial?: OnSpecial}} [options]
   * @returns {Rendering}
   */
  renderRequest(request, { onSpecial = 'literal' } = {}) {
    const core = this.#core;
    const policy = onSpecialOf(onSpecial);
    const { address, length } = core.put(jsonText('request', request));
    return new Rendering(core, core.make('render', core.contract, this.#profile, policy, address, length));
  }
}

/** A prompt. What nobody asks for is not computed. */
export class Rendering {
  #core;
  #handle;
  /** @type {Report | undefined} */
  #report;

  /** @param {Core} core @param {number} address */
  constructor(core, address) {
    this.#core = core;
    this.#handle = new Handle(core, 'rendering', address);
  }

  /** Its ids. @returns {Uint32Array} */
  get inputIds() {
    return this.#core.takeIds('rendering_ids', this.#handle.address);
  }

  /** For each id its role, part, trust class, message and byte ranges. @returns {Token[]} */
  get tokens() {
    return tokensOf(this.#core.takeJson('rendering_tokens', this.#handle.address));
  }

  /** The prompt as text, structural tokens included; for people, never to be encoded again. */
  get text() {
    return this.#read.text;
  }

  /** Text of special tokens in application and untrusted fields. */
  get findings() {
    return this.#read.findings;
  }

  /** How many there are in a policy: none, since Template2 knows no policy. */
  get policyFindings() {
    return this.#read.policy_findings;
  }

  /** Indices of the messages whose reasoning the template leaves out of the prompt. */
  get droppedReasoning() {
    return this.#read.dropped_reasoning;
  }

  /** Of the template's machine, by name; a reply goes on from there. */
  get state() {
    return this.#read.state;
  }

  /** The states of the machine that were entered, one for each event of the conversation. */
  get path() {
    return this.#read.path;
  }

  get #read() {
    this.#report ??= this.#core.takeJson('rendering_json', this.#handle.address);
    return /** @type {Report} */ (this.#report);
  }

  /** Let go of it now. */
  dispose() {
    this.#handle.dispose();
  }
}

/**
 * Tokens of the module's JSON.
 * @param {[number, string, string, Token['trust'], number | null, [string, number, number][]][]} rows
 * @returns {Token[]}
 */
export function tokensOf(rows) {
  return rows.map(([id, role, part, trust, message, ranges]) => ({
    id,
    role,
    part,
    trust,
    message,
    ranges: ranges.map(([source, start, end]) => ({ source, start, end })),
  }));
}
