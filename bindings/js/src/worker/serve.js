// The worker's side: requests in, events out. It keeps one contract and one model; requests are done one after the other.

import { attach, load } from '../index.js';
import { Slm2Error, refuseType } from '../errors.js';
import { Flow } from './flow.js';
import { generate } from './generate.js';
import { travelling } from './messages.js';

/** @typedef {import('../adapters/model.js').Model} Model */
/** @typedef {import('../index.js').Contract} Contract */
/** @typedef {import('./messages.js').Port} Port */
/** @typedef {import('./messages.js').ToWorker} ToWorker */

/**
 * Answer the requests of a {@link import('./client.js').Slm2Worker}: call this once in the module of a worker.
 * @param {object} options
 * @param {(options: any) => Model | Promise<Model>} options.model makes the model, from what the page said about it
 * @param {(contract: Contract, method: string, params: any) => unknown} [options.answer] answers other requests, a testee's for example
 * @param {Port} [options.port] where the requests come from; the worker's own scope where nothing is said
 */
export function serve({ model, answer, port = /** @type {Port} */ (/** @type {unknown} */ (globalThis)) }) {
  if (typeof model !== 'function') refuseType('model', 'a function that makes a model', model);
  const server = new Server(model, answer, port);
  port.addEventListener('message', ({ data }) => server.receive(data));
  port.start?.();
  port.postMessage({ type: 'ready' }, []);
}

class Server {
  /** @type {Contract | undefined} */
  #contract;
  /** @type {Model | undefined} */
  #model;
  /** @type {Uint32Array} */
  #cached = new Uint32Array(0);
  /** @type {Map<number, Flow>} */
  #flows = new Map();
  #last = Promise.resolve();
  #makeModel;
  #answer;
  #port;

  /**
   * @param {(options: unknown) => Model | Promise<Model>} makeModel
   * @param {((contract: Contract, method: string, params: any) => unknown) | undefined} answer
   * @param {Port} port
   */
  constructor(makeModel, answer, port) {
    this.#makeModel = makeModel;
    this.#answer = answer;
    this.#port = port;
  }

  /** @param {ToWorker} message */
  receive(message) {
    switch (message.type) {
      case 'taken':
        return this.#flows.get(message.id)?.taken(message.count);
      case 'cancel':
        return this.#flows.get(message.id)?.cancel();
      case 'generate':
        this.#flows.set(message.id, new Flow(message.window));
    }
    // One after the other: the model has one cache.
    this.#last = this.#last.then(() => this.#do(message)).catch((error) => this.#refuse(message.id, error));
  }

  /** @param {ToWorker} message */
  async #do(message) {
    if (message.type === 'open') await this.#open(message);
    if (message.type === 'answer') await this.#answered(message);
    if (message.type === 'generate') await this.#generate(message).finally(() => this.#flows.delete(message.id));
  }

  /** @param {Extract<ToWorker, {type: 'open'}>} message */
  async #open({ id, load: options, shared, model }) {
    this.#contract?.dispose();
    await this.#model?.dispose?.();
    this.#contract = shared === null ? await load(options ?? {}) : await attach(shared);
    this.#model = await this.#makeModel(model);
    this.#cached = new Uint32Array(0);
    this.#port.postMessage({ type: 'opened', id, opened: this.#contract.opened }, []);
  }

  /** @param {Extract<ToWorker, {type: 'answer'}>} message */
  async #answered({ id, method, params }) {
    const answer = await this.#answer?.(this.#opened, method, params);
    this.#port.postMessage({ type: 'answered', id, answer }, []);
  }

  /** @param {Extract<ToWorker, {type: 'generate'}>} message */
  async #generate({ id, request }) {
    const flow = /** @type {Flow} */ (this.#flows.get(id));
    const contract = this.#opened;
    const model = /** @type {Model} */ (this.#model);
    const events = generate(contract, model, this.#cached, request, (ids) => (this.#cached = ids));
    let steps = 0;
    try {
      for await (const event of events) {
        this.#port.postMessage({ type: 'event', id, event }, []);
        steps += event.kind === 'step' ? 1 : 0;
        await flow.sent();
        if (flow.cancelled) throw new Slm2Error('cancelled', { steps });
      }
    } finally {
      await events.return(undefined);
    }
  }

  get #opened() {
    if (this.#contract === undefined) throw new Slm2Error('worker_failed', { reason: 'nothing was opened' });
    return this.#contract;
  }

  /**
   * @param {number} id
   * @param {unknown} error
   */
  #refuse(id, error) {
    this.#port.postMessage({ type: 'refused', id, error: travelling(error) }, []);
  }
}
