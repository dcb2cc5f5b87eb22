// SLM2 for JavaScript: everything of a small language model except its weights. See README.md.

import { Core } from './core.js';
import { Slm2Error, checkOptions, choice, integer, refuseType } from './errors.js';
import { Generation } from './generation.js';
import { Prompt } from './prompt.js';
import { ReplyParser } from './reply.js';
import { Sampler } from './sampling.js';
import { Session } from './session.js';
import { StreamDecoder } from './stream.js';
import { Template } from './template.js';
import { isBytes, toBytes } from './text.js';
import { Tokenizer } from './tokenizer.js';
import { compileModule, readBytes } from '#files';

export { Slm2Error } from './errors.js';
export { Generation } from './generation.js';
export { Assembly, Prompt } from './prompt.js';
export { ReplyParser } from './reply.js';
export { PRESETS, STOP_IDS, Sampler, WIDTH, configFromPreset, widen } from './sampling.js';
export { Session } from './session.js';
export { StreamDecoder } from './stream.js';
export { Rendering, Template } from './template.js';
export { ChunkEncoder, EncodedText, Tokenizer } from './tokenizer.js';
export { Slm2Worker } from './worker/client.js';

/** @typedef {'contract' | 'publisher'} Profile */
/** @typedef {'plain' | 'shared'} MemoryKind */

/**
 * @typedef {object} LoadOptions
 * @property {string | URL | ArrayBuffer | ArrayBufferView} [artifact] its address or bytes; the one in the package where nothing is said
 * @property {Profile} [profile] 'contract' where nothing is said
 * @property {number} [maxPretoken] the longest piece of text that is encoded, in bytes: 256 to 2^31 - 1
 * @property {string | URL | WebAssembly.Module} [wasm] the module, or its address; the one in the package where nothing is said
 */

/**
 * What was opened, to report it.
 * @typedef {object} Opened
 * @property {MemoryKind} memory 'plain': this thread has its own copy of the artifact; 'shared': all that attach use one
 * @property {number} bytes of WebAssembly memory now, artifact and buffers included
 * @property {Profile} profile
 * @property {string} digest SHA-256 of the behaviour, hex
 * @property {string} fileDigest SHA-256 of the artifact's file, hex
 */

/**
 * What a worker needs to attach; it can be posted.
 * @typedef {object} Shared
 * @property {WebAssembly.Module} module
 * @property {WebAssembly.Memory} memory
 * @property {number} contract
 * @property {number} stack the end of the worker's own stack
 * @property {number} tls
 * @property {{profile?: Profile, maxPretoken?: number}} options
 */

const PROFILES = /** @type {const} */ (['contract', 'publisher']);
const ARTIFACT = () => new URL('../data/qwen3-0.6b.slm2', import.meta.url);
const PLAIN = () => new URL('../data/slm2.wasm', import.meta.url);
const SHARED = () => new URL('../data/slm2-shared.wasm', import.meta.url);

/** Of the shared memory, in pages of 64 KiB: what the module is built for, and room for the artifact at the start. */
const MOST_PAGES = 16384;
const FIRST_PAGES = 160;
/** Bytes of a thread's stack: that of the module itself. */
const STACK_BYTES = 1 << 20;

/**
 * Open an artifact in memory of this thread alone.
 * @param {LoadOptions} [options]
 * @returns {Promise<Contract>}
 * @throws {Slm2Error} `file_unreadable`, `invalid_value`, `invalid_type`, `limit_out_of_range`, or a code of contract/artifact.md
 */
export async function load(options = {}) {
  checkOptions(options, ['artifact', 'profile', 'maxPretoken', 'wasm']);
  const profile = profileOf(options.profile);
  const [module, bytes] = await Promise.all([moduleOf(options.wasm ?? PLAIN()), bytesOf(options.artifact ?? ARTIFACT())]);
  const { exports } = await WebAssembly.instantiate(module, {});
  const core = new Core(exports, /** @type {WebAssembly.Memory} */ (exports.memory), false);
  limit(core, options.maxPretoken);
  core.contract = adopt(core, bytes);
  return new Contract(core, profile);
}

/** Whether {@link openShared} can work here: in a browser, where the page is cross-origin isolated. */
export function canShareMemory() {
  return typeof SharedArrayBuffer === 'function' && globalThis.crossOriginIsolated !== false;
}

/**
 * Open an artifact in shared memory: every thread that attaches uses it where it is.
 * @param {Pick<LoadOptions, 'artifact' | 'wasm'>} [options]
 * @returns {Promise<SharedContract>}
 * @throws {Slm2Error} `shared_memory_unavailable`, and what {@link load} throws
 */
export async function openShared(options = {}) {
  checkOptions(options, ['artifact', 'wasm']);
  if (!canShareMemory()) {
    const reason = typeof SharedArrayBuffer === 'function' ? 'the page is not cross-origin isolated' : 'there is no SharedArrayBuffer';
    throw new Slm2Error('shared_memory_unavailable', { reason });
  }
  const [module, bytes] = await Promise.all([moduleOf(options.wasm ?? SHARED()), bytesOf(options.artifact ?? ARTIFACT())]);
  const memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: MOST_PAGES, shared: true });
  const { exports } = await WebAssembly.instantiate(module, { env: { memory } });
  const core = new Core(exports, memory, true);
  core.contract = adopt(core, bytes);
  return new SharedContract(core, module, memory);
}

/**
 * Attach to what another thread opened: call this once on a thread, with what {@link SharedContract#forWorker} gave.
 * @param {Shared} shared
 * @returns {Promise<Contract>}
 */
export async function attach({ module, memory, contract, stack, tls, options }) {
  const instance = await WebAssembly.instantiate(module, { env: { memory } });
  const exports = /** @type {Record<string, any>} */ (instance.exports);
  // Before anything else runs: until then this instance would use the first thread's stack.
  exports.__stack_pointer.value = stack;
  if (tls !== 0) exports.__wasm_init_tls(tls);
  const core = new Core(exports, memory, true, contract);
  limit(core, options.maxPretoken);
  return new Contract(core, profileOf(options.profile));
}

/** An artifact that lies in shared memory. Keep it as long as any thread uses it. */
export class SharedContract {
  #core;
  #module;
  #memory;

  /**
   * Use {@link openShared}.
   * @param {Core} core
   * @param {WebAssembly.Module} module
   * @param {WebAssembly.Memory} memory
   */
  constructor(core, module, memory) {
    this.#core = core;
    this.#module = module;
    this.#memory = memory;
  }

  /**
   * A contract for this thread.
   * @param {{profile?: Profile}} [options]
   * @returns {Contract}
   */
  attach({ profile } = {}) {
    return new Contract(this.#core, profileOf(profile));
  }

  /**
   * What another thread needs to {@link attach}; for one thread each.
   * @param {{profile?: Profile, maxPretoken?: number}} [options]
   * @returns {Shared}
   */
  forWorker(options = {}) {
    profileOf(options.profile);
    const core = this.#core;
    // Reserved here, where a stack is: the other thread has none before.
    const stack = (core.alloc(STACK_BYTES) + STACK_BYTES) & ~15;
    const size = core.exports.__tls_size.value;
    const align = core.exports.__tls_align.value || 1;
    const tls = size === 0 ? 0 : (core.alloc(size + align) + align - 1) & ~(align - 1);
    return { module: this.#module, memory: this.#memory, contract: core.contract, stack, tls, options };
  }
}

/** An opened artifact, one profile, and the parts over them. */
export class Contract {
  #core;
  #info;
  profile;
  tokenizer;
  template;
  prompt;

  /**
   * Use {@link load}.
   * @param {Core} core
   * @param {Profile} profile
   */
  constructor(core, profile) {
    this.#core = core;
    /** @type {{semantic_digest: string, file_digest: string, contract_version: number, vocabulary_size: number, token_limit: number, special_tokens: [number, string][], provenance: Record<string, string>}} */
    this.#info = core.takeJson('contract_info', core.contract);
    core.tokenLimit = this.#info.token_limit;
    this.profile = profile;
    const number = PROFILES.indexOf(profile);
    this.tokenizer = new Tokenizer(core, number, this.#info);
    this.template = new Template(core, number);
    this.prompt = new Prompt(core, number);
  }

  /**
   * The same artifact, not opened again, with another profile or limit.
   * @param {{profile?: Profile, maxPretoken?: number}} options
   * @returns {Contract}
   */
  with({ profile = this.profile, maxPretoken }) {
    if (maxPretoken === undefined) return new Contract(this.#core, profileOf(profile));
    const core = this.#core.another();
    try {
      limit(core, maxPretoken);
      return new Contract(core, profileOf(profile));
    } catch (error) {
      core.close();
      throw error;
    }
  }

  /** SHA-256 that names the behaviour, hex: vectors and checkpoints bind to it. */
  get digest() {
    return this.#info.semantic_digest;
  }

  /** SHA-256 that names the artifact's file, hex. */
  get fileDigest() {
    return this.#info.file_digest;
  }

  /** What the artifact says about itself. */
  get info() {
    return structuredClone(this.#info);
  }

  /** What was opened and how, to report it. @returns {Opened} */
  get opened() {
    const memory = this.#core.shared ? 'shared' : 'plain';
    return { memory, bytes: this.#core.bytes, profile: this.profile, digest: this.digest, fileDigest: this.fileDigest };
  }

  /**
   * A reader of one reply, which begins in the state in which a prompt ended.
   * @param {string} state
   */
  reply(state) {
    return new ReplyParser(this.#core, state);
  }

  /**
   * An empty conversation that keeps its cache.
   * @param {import('./session.js').SessionOptions} [options]
   */
  session(options = {}) {
    return Session.begin(this.#core, PROFILES.indexOf(this.profile), options);
  }

  /**
   * The session of a checkpoint that {@link Session#save} made.
   * @param {Uint8Array | string} checkpoint
   */
  restoreSession(checkpoint) {
    return Session.restore(this.#core, checkpoint);
  }

  /**
   * A streaming decoder; `special` says what becomes of ids of special tokens.
   * @param {{special: import('./stream.js').SpecialPolicy}} options
   */
  streamDecoder({ special }) {
    return new StreamDecoder(this.#core, special);
  }

  /**
   * What draws the ids of one sequence.
   * @param {unknown} config all fields of contract/sampling.md, as a value or JSON text
   * @param {ArrayLike<number>} [prompt] ids that the model has seen
   * @param {{width?: number}} [options] logits of a row
   */
  sampler(config, prompt = [], options = {}) {
    this.#checkProfile(config);
    return new Sampler(this.#core, config, prompt, options);
  }

  /**
   * Logits to text until something ends it.
   * @param {unknown} config as {@link Contract#sampler}
   * @param {ArrayLike<number>} prompt
   * @param {import('./generation.js').GenerationOptions} options
   */
  generation(config, prompt, options) {
    this.#checkProfile(config);
    return new Generation(this.#core, config, prompt, options);
  }

  /**
   * Every part reads the same word (decisions D1). What is no configuration is for the core to refuse.
   * @param {unknown} config
   */
  #checkProfile(config) {
    const { profile, rng } = membersOf(config);
    if (typeof profile !== 'string' || profile === this.profile || !PROFILES.includes(/** @type {Profile} */ (profile))) return;
    const expected = `the generator of a configuration of profile ${this.profile}`;
    throw new Slm2Error('sampling_pairing', { profile: this.profile, rng, expected });
  }

  /** Let go of the memory now; nothing that was made here works afterwards. */
  dispose() {
    this.#core.close();
  }

  /** What tests and testees ask beside the API. @returns {Core} */
  get core() {
    return this.#core;
  }
}

/** @param {Core} core @param {number | undefined} maxPretoken */
function limit(core, maxPretoken) {
  if (maxPretoken !== undefined) core.run('context_set_max_pretoken', BigInt(integer('maxPretoken', maxPretoken, 0, 2 ** 52)));
}

/**
 * What an object, or the JSON text of one, has.
 * @param {unknown} value
 * @returns {Record<string, unknown>}
 */
function membersOf(value) {
  if (typeof value !== 'string') return value !== null && typeof value === 'object' ? /** @type {Record<string, unknown>} */ (value) : {};
  try {
    return Object(JSON.parse(value));
  } catch {
    return {};
  }
}

/** @param {unknown} profile @returns {Profile} */
function profileOf(profile = 'contract') {
  return /** @type {Profile} */ (PROFILES[choice('profile', PROFILES, profile)]);
}

/** @param {unknown} wasm */
async function moduleOf(wasm) {
  if (wasm instanceof WebAssembly.Module) return wasm;
  return typeof wasm === 'string' || wasm instanceof URL ? compileModule(wasm) : refuseType('wasm', 'an address or a module', wasm);
}

/** @param {unknown} artifact */
async function bytesOf(artifact) {
  if (isBytes(artifact)) return toBytes(artifact);
  return typeof artifact === 'string' || artifact instanceof URL ? readBytes(artifact) : refuseType('artifact', 'an address or bytes', artifact);
}

/** @param {Core} core @param {Uint8Array} bytes */
function adopt(core, bytes) {
  const address = core.alloc(bytes.length);
  core.u8.set(bytes, address);
  return core.make('contract_adopt', address, bytes.length);
}
