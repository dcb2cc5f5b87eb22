// The page's side of a worker.

import { Slm2Error, integer, refuseType } from '../errors.js';

/** @typedef {import('./messages.js').Port} Port */
/** @typedef {import('./messages.js').FromWorker} FromWorker */
/** @typedef {import('./messages.js').ToWorker} ToWorker */
/** @typedef {import('./messages.js').GenerateRequest} GenerateRequest */
/** @typedef {import('./messages.js').GenerationEvent} GenerationEvent */
/** @typedef {import('../index.js').Opened} Opened */
/** @typedef {import('../index.js').LoadOptions} LoadOptions */
/** @typedef {import('../index.js').SharedContract} SharedContract */

/** @typedef {{resolve: (value: any) => void, reject: (error: Slm2Error) => void, take: ((event: GenerationEvent) => void) | null}} Waiting */

const DEFAULT_WINDOW = 64;

/**
 * A worker that runs `serve` of `slm2/worker`: prompt, template, tokens, model, sampling and the reply, away from the page's thread.
 */
export class Slm2Worker {
  #port;
  #end;
  #next = 0;
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  /** @type {Slm2Error | null} */
  #failure = null;
  /** What the worker opened. @type {Opened} */
  opened;

  /**
   * Start what the worker needs.
   * @param {Worker | MessagePort | Port} port the worker, or a port to it
   * @param {object} [options]
   * @param {LoadOptions} [options.load] what the worker opens for itself: it has a copy of the artifact then
   * @param {SharedContract} [options.shared] or what all workers share, without a copy
   * @param {unknown} [options.model] handed to the function that makes the model; whatever can be cloned
   * @returns {Promise<Slm2Worker>}
   */
  static async start(port, { load, shared, model = null } = {}) {
    if (load !== undefined && shared !== undefined) {
      throw new Slm2Error('invalid_value', { field: 'options', expected: 'load or shared', found: 'both' });
    }
    const worker = new Slm2Worker(/** @type {Port} */ (port));
    worker.opened = await worker.#ask({ type: 'open', load: load ?? null, shared: shared?.forWorker() ?? null, model });
    return worker;
  }

  /**
   * Use {@link Slm2Worker.start}.
   * @param {Port} port
   */
  constructor(port) {
    if (typeof port?.postMessage !== 'function') refuseType('port', 'a Worker or a MessagePort', port);
    this.#port = port;
    this.#end = () => /** @type {any} */ (port).terminate?.() ?? /** @type {any} */ (port).close?.();
    this.opened = /** @type {any} */ (null);
    port.addEventListener('message', ({ data }) => this.#receive(data));
    const broken = /** @type {any} */ (port);
    broken.addEventListener('error', (/** @type {any} */ event) => this.#fail(event.message ?? 'its module could not be run'));
    broken.addEventListener('messageerror', () => this.#fail('a message could not be read'));
    port.start?.();
  }

  /**
   * Generate. The events come as they are read: the worker runs at most `window` of them ahead. Leaving the loop cancels.
   * @param {GenerateRequest} request
   * @param {object} [options]
   * @param {AbortSignal} [options.signal] cancels: the loop then throws `cancelled`
   * @param {number} [options.window] how many events may be on their way
   * @returns {AsyncGenerator<GenerationEvent, void, undefined>}
   */
  async *generate(request, { signal, window = DEFAULT_WINDOW } = {}) {
    integer('window', window, 1, 2 ** 20);
    /** @type {GenerationEvent[]} */
    const arrived = [];
    let wake = () => {};
    let ended = false;
    const { id, answer } = this.#send({ type: 'generate', request, window }, (event) => {
      arrived.push(event);
      wake();
    });
    const done = answer.finally(() => {
      ended = true;
      wake();
    });
    done.catch(() => {}); // it is awaited below, maybe after it failed
    const cancel = () => this.#post({ type: 'cancel', id });
    signal?.addEventListener('abort', cancel);
    if (signal?.aborted) cancel();
    try {
      while (true) {
        const event = arrived.shift();
        if (event !== undefined) {
          this.#post({ type: 'taken', id, count: 1 });
          yield event;
          if (event.kind === 'end') return;
        } else if (ended) {
          return void (await done);
        } else {
          await new Promise((resolve) => (wake = () => resolve(undefined)));
        }
      }
    } finally {
      signal?.removeEventListener('abort', cancel);
      if (!ended) cancel();
      this.#waiting.delete(id);
    }
  }

  /**
   * What the worker's own function `answer` says.
   * @param {string} method
   * @param {Record<string, unknown>} params
   * @returns {Promise<any>}
   */
  answer(method, params) {
    return this.#ask({ type: 'answer', method, params });
  }

  /** End the worker; what it was asked fails. */
  terminate() {
    this.#end();
    this.#fail('it was terminated');
  }

  /** @param {any} message */
  #ask(message) {
    return this.#send(message, null).answer;
  }

  /**
   * @param {any} message without its number
   * @param {((event: GenerationEvent) => void) | null} take
   */
  #send(message, take) {
    if (this.#failure !== null) throw this.#failure;
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, take }));
    this.#post({ ...message, id });
    return { id, answer };
  }

  /** @param {ToWorker} message */
  #post(message) {
    this.#port.postMessage(message, []);
  }

  /** @param {FromWorker} message */
  #receive(message) {
    if (message.type === 'ready') return;
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return; // nobody reads any more
    if (message.type === 'event') return waiting.take?.(message.event);
    this.#waiting.delete(message.id);
    if (message.type === 'refused') waiting.reject(Slm2Error.fromJSON(message.error));
    else waiting.resolve(message.type === 'opened' ? message.opened : message.answer);
  }

  /** @param {string} reason */
  #fail(reason) {
    this.#failure = new Slm2Error('worker_failed', { reason });
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}
