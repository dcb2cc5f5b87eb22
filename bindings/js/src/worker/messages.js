// What goes between a page and its worker. Everything can be cloned; an error travels as code, message and fields.

import { Slm2Error } from '../errors.js';

/** @typedef {import('../index.js').Shared} Shared */
/** @typedef {import('../index.js').Opened} Opened */
/** @typedef {import('../index.js').LoadOptions} LoadOptions */

/**
 * What is to be generated. Just one of `prompt`, `conversation` and `ids` says after what.
 * @typedef {object} GenerateRequest
 * @property {unknown} [prompt] a request of Prompt2, as a value or JSON text
 * @property {unknown} [conversation] a request of Template2, as a value or JSON text
 * @property {Uint32Array} [ids] a prompt that is ready
 * @property {string} [state] of the template's machine after `ids`: with it the reply is parsed
 * @property {unknown} sampling configuration, with `max_tokens`, `stop_ids` and `stop_strings`
 * @property {'refuse' | 'skip' | 'bytes'} [special] what becomes of ids of special tokens in the text of the steps; 'skip' where nothing is said
 * @property {'literal' | 'reject'} [onSpecial] as in Template2 and Prompt2
 * @property {number} [top] how many of the most probable kept ids each step tells
 */

/**
 * What a generation says, in this order: one `prompt`, for each id a `step` and what it says of the reply, one `end`.
 * @typedef {PromptEvent | StepEvent | ReplyEventOf | EndEvent} GenerationEvent
 */
/** @typedef {{kind: 'prompt', ids: Uint32Array, kept: number, report: Record<string, unknown> | null}} PromptEvent `kept`: how many ids were in the model's cache */
/** @typedef {{kind: 'step', sample: import('../sampling.js').Sample, text: string, state: string | null}} StepEvent */
/** @typedef {{kind: 'reply', event: import('../reply.js').ReplyEvent}} ReplyEventOf */
/** @typedef {{kind: 'end', result: import('../generation.js').GenerationResult, message: Record<string, unknown> | null}} EndEvent */

/**
 * @typedef {{type: 'open', id: number, load: LoadOptions | null, shared: Shared | null, model: unknown}
 *   | {type: 'generate', id: number, request: GenerateRequest, window: number}
 *   | {type: 'answer', id: number, method: string, params: Record<string, unknown>}
 *   | {type: 'taken', id: number, count: number}
 *   | {type: 'cancel', id: number}} ToWorker
 */
/**
 * @typedef {{type: 'ready'}
 *   | {type: 'opened', id: number, opened: Opened}
 *   | {type: 'event', id: number, event: GenerationEvent}
 *   | {type: 'answered', id: number, answer: Record<string, unknown>}
 *   | {type: 'refused', id: number, error: ReturnType<Slm2Error['toJSON']>}} FromWorker
 */

/**
 * An end of a channel: a Worker, a MessagePort of a browser or of Node, or the scope of a worker.
 * @typedef {object} Port
 * @property {(message: any, transfer: Transferable[]) => void} postMessage
 * @property {(type: 'message', listener: (event: any) => void) => void} addEventListener
 * @property {() => void} [start]
 */

/**
 * Any failure as one that can travel: what is none of the library's was a failure of the worker itself.
 * @param {unknown} error
 */
export function travelling(error) {
  if (error instanceof Slm2Error) return error.toJSON();
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Slm2Error('worker_failed', { reason }).toJSON();
}
