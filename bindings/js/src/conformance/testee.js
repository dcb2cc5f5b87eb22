// A testee over this package: the calls of contract/conformance.md, each answered by the public API.

import { Slm2Error } from '../errors.js';
import { load } from '../index.js';
import * as sampling from './sampling.js';
import * as sweeps from './sweeps.js';

/** @typedef {import('../index.js').Contract} Contract */
/** @typedef {Record<string, any>} Params */
/** @typedef {{id: number, method: string, params: Params}} Request */
/** @typedef {{id: number, result: unknown} | {id: number, error: {code: string, fields: Record<string, unknown>}} | {id: number, failure: string}} Answer */

export const PROTOCOL = 1;

/** Answers requests, one by one, by one opened artifact. */
export class Testee {
  #contract;
  #host;

  /**
   * @param {Contract} contract
   * @param {{runtime: string, platform: string}} host what it runs on
   */
  constructor(contract, host) {
    this.#contract = contract;
    this.#host = host;
  }

  /**
   * The answer to one request; whatever goes wrong is one.
   * @param {Request} request
   * @returns {Promise<Answer>}
   */
  async answer({ id, method, params, ...rest }) {
    try {
      if (Object.keys(rest).length > 0) throw new Error(`unknown keys ${Object.keys(rest)}`);
      return { id, result: await this.#result(method, params) };
    } catch (error) {
      if (error instanceof Slm2Error) return { id, error: { code: error.code, fields: error.fields } };
      return { id, failure: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
    }
  }

  /** @param {string} method @param {Params} params */
  async #result(method, { profile = 'contract', max_pretoken, ...inputs }) {
    if (method === 'hello') return this.#hello();
    const operation = METHODS[method];
    if (operation === undefined) throw new Error(`there is no method ${method}`);
    if (method === 'open') return operation(this.#contract, { ...inputs, max_pretoken });
    if (max_pretoken === undefined) return operation(this.#contract.with({ profile }), inputs);
    const limited = this.#contract.with({ profile, maxPretoken: max_pretoken });
    try {
      return await operation(limited, inputs);
    } finally {
      limited.dispose();
    }
  }

  #hello() {
    const { info, digest, fileDigest } = this.#contract;
    return {
      protocol: PROTOCOL,
      contract_version: info.contract_version,
      semantic_digest: digest,
      file_digest: fileDigest,
      host: { name: `slm2 for JavaScript, ${this.#contract.opened.memory} memory`, version: '0.1.0', language: 'JavaScript and WebAssembly', ...this.#host },
      methods: ['hello', ...Object.keys(METHODS)].sort(),
    };
  }
}

// ---- inputs and results ----

/**
 * The text of a call: a string, or bytes.
 * @param {Params} params
 * @returns {string | Uint8Array}
 */
export function inputText({ base64, utf16, text }) {
  if (base64 !== undefined) return bytesOfBase64(base64);
  if (utf16 !== undefined) return String.fromCharCode(...utf16);
  if (typeof text !== 'string') throw new Error('a text is one of text, utf16 and base64');
  return text;
}

/** @param {string} text */
export function bytesOfBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Bytes of a result: text where they are well-formed.
 * @param {Uint8Array} bytes
 */
function outputText(bytes) {
  try {
    return { text: decoder.decode(bytes) };
  } catch {
    return { base64: btoa(String.fromCharCode(...bytes)) };
  }
}

/** @param {Uint8Array} bytes */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * The outcome of one call among several: a refusal is one too.
 * @param {() => Record<string, unknown>} call
 * @returns {Record<string, unknown>}
 */
export function outcome(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof Slm2Error) return { error: { code: error.code, fields: error.fields } };
    throw error;
  }
}

/**
 * Use something, and free it then, also where it is refused something: a testee answers thousands of calls.
 * @template {{dispose(): void}} Thing
 * @template Result
 * @param {Thing} thing
 * @param {(thing: Thing) => Result} work
 * @returns {Result}
 */
export function using(thing, work) {
  /** @type {any} */
  let result;
  try {
    result = work(thing);
  } catch (error) {
    thing.dispose();
    throw error;
  }
  if (result instanceof Promise) return /** @type {any} */ (result.finally(() => thing.dispose()));
  thing.dispose();
  return result;
}

/** @param {Params} params */
function onSpecial({ on_special }) {
  return on_special === undefined ? {} : { onSpecial: on_special };
}

/** @param {import('../template.js').Token} token */
function row({ id, role, part, trust, message, ranges }) {
  return [id, role, part, trust, message, ranges.map(({ source, start, end }) => [source, start, end])];
}

// ---- methods ----

/** @type {Record<string, (contract: Contract, params: Params) => unknown>} */
const METHODS = {
  encode: ({ tokenizer }, params) => ({ ids: [...tokenizer.encode(inputText(params), onSpecial(params))] }),
  encode_spans({ tokenizer }, params) {
    const unit = params.unit === undefined ? {} : { unit: params.unit };
    const { ids, starts, ends } = tokenizer.encodeSpans(inputText(params), { ...unit, ...onSpecial(params) });
    return { spans: Array.from(ids, (id, at) => [id, starts[at], ends[at]]) };
  },
  encode_into({ tokenizer }, params) {
    const none = 2 ** 32 - 1;
    const out = new Uint32Array(params.room).fill(none);
    const count = tokenizer.encodeInto(inputText(params), out);
    return { count, out: Array.from(out, (id) => (id === none ? null : id)) };
  },
  count: ({ tokenizer }, params) => ({ count: tokenizer.count(inputText(params)) }),
  count_until: ({ tokenizer }, params) => ({ count: tokenizer.countUntil(inputText(params), params.limit) }),
  chunks: ({ tokenizer }, { parts }) =>
    using(tokenizer.chunks(), (chunks) => {
      const call = (/** @type {any} */ part) => {
        const ids = part === 'finish' ? chunks.finish() : chunks.push(inputText(part));
        return { ids: [...ids], pending: chunks.pending };
      };
      return { calls: parts.map((/** @type {any} */ part) => outcome(() => call(part))) };
    }),
  append: ({ tokenizer }, { parts }) =>
    using(tokenizer.encodedText(), (text) => {
      const call = (/** @type {any} */ part) => {
        const { keep, append } = text.append(inputText(part));
        return { keep, append: [...append] };
      };
      const calls = parts.map((/** @type {any} */ part) => outcome(() => call(part)));
      return { calls, ids: [...text.ids] };
    }),
  encode_trusted: ({ tokenizer }, params) => ({ ids: [...tokenizer.encodeTrusted(inputText(params))] }),
  find_special: ({ tokenizer }, params) => ({ findings: tokenizer.findSpecial(inputText(params)) }),
  decode: ({ tokenizer }, { ids, special }) => outputText(tokenizer.decode(ids, { special })),
  token_bytes: ({ tokenizer }, { token }) => outputText(tokenizer.tokenBytes(token)),
  token_id: ({ tokenizer }, params) => ({ token: tokenizer.tokenId(inputText(params)) }),
  stream: (contract, { special, calls }) =>
    using(contract.streamDecoder({ special }), (decoder) => {
      const call = (/** @type {any} */ ids) => (ids === 'finish' ? (decoder.finish(), {}) : { text: decoder.push(ids) });
      return { calls: calls.map((/** @type {any} */ ids) => ({ ...outcome(() => call(ids)), pending: hex(decoder.pending) })) };
    }),
  render: ({ template }, params) =>
    using(template.renderRequest(params.request, onSpecial(params)), ({ inputIds, text, findings, droppedReasoning }) => ({
      input_ids: [...inputIds],
      text,
      findings,
      dropped_reasoning: droppedReasoning,
    })),
  render_tokens: ({ template }, { request }) => using(template.renderRequest(request), ({ tokens }) => ({ tokens: tokens.map(row) })),
  reply: (contract, { state, calls }) =>
    using(contract.reply(state), (reply) => {
      const call = (/** @type {any} */ ids) => ({ events: ids === 'finish' ? reply.finish() : reply.push(ids) });
      return { calls: calls.map((/** @type {any} */ ids) => ({ ...outcome(() => call(ids)), state: reply.state })) };
    }),
  session(contract, { options, steps }) {
    let session = contract.session(options);
    const said = [];
    try {
      for (const step of steps) {
        const answer = outcome(() => (step.restore === undefined ? sessionStep(session, step) : { session: contract.restoreSession(step.restore) }));
        if (answer.session === undefined) said.push(answer);
        else {
          session.dispose();
          session = /** @type {import('../session.js').Session} */ (answer.session);
          said.push({ cached: session.cachedIds.length });
        }
      }
    } finally {
      session.dispose();
    }
    return { steps: said };
  },
  assemble: ({ prompt }, params) =>
    using(prompt.assemble(params.request, onSpecial(params)), ({ inputIds, report }) => ({ input_ids: [...inputIds], ...report })),
  prompt_delta({ prompt }, { request, before }) {
    const cached = before === null ? [] : using(prompt.assemble(before), ({ inputIds }) => inputIds);
    return using(prompt.assemble(request), (assembly) => {
      const { append, ...delta } = assembly.delta(cached);
      return { ...delta, append: [...append] };
    });
  },
  assemble_tokens: ({ prompt }, { request }) => using(prompt.assemble(request), ({ tokens }) => ({ tokens: tokens.map(row) })),
  async open(_, { base64, max_pretoken }) {
    const limit = max_pretoken === undefined ? {} : { maxPretoken: max_pretoken };
    return using(await load({ artifact: bytesOfBase64(base64), ...limit }), ({ digest, fileDigest }) => ({ semantic_digest: digest, file_digest: fileDigest }));
  },
  special_tokens: ({ tokenizer }) => ({ tokens: Array.from(tokenizer.specialTokens, ([text, id]) => [id, text]) }),
  memory: (contract) => ({ bytes: contract.opened.bytes, measured: 'environment' }),
  ...sampling.METHODS,
  ...sweeps.METHODS,
};

/**
 * @param {import('../session.js').Session} session
 * @param {any} step
 */
function sessionStep(session, step) {
  if (step === 'settle') return delta(session.settle());
  if (step === 'settled') return delta(session.settled());
  if (step === 'save') return { checkpoint: decoder.decode(session.save()) };
  if ('reply' in step) return { events: session.reply(step.reply) };
  return delta(session.extend(step.extend, step.enable_thinking === undefined ? {} : { enableThinking: step.enable_thinking }));
}

/** @param {import('../session.js').Delta} delta */
function delta({ keep, append, lost, state }) {
  return { keep, append: [...append], lost: lost.map(({ message, ids, reason }) => [message, ids, reason]), state };
}
