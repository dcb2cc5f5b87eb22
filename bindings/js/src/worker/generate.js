// One generation: prompt, template, ids, the model's logits, draws, and what the reply says.

import { Slm2Error, checkOptions } from '../errors.js';
import { idsOf } from '../tokenizer.js';

/** @typedef {import('./messages.js').GenerateRequest} GenerateRequest */
/** @typedef {import('./messages.js').GenerationEvent} GenerationEvent */
/** @typedef {import('../index.js').Contract} Contract */
/** @typedef {import('../adapters/model.js').Model} Model */

const FIELDS = ['prompt', 'conversation', 'ids', 'state', 'sampling', 'special', 'onSpecial', 'top'];
const SOURCES = /** @type {const} */ (['prompt', 'conversation', 'ids']);

/**
 * The events of a generation.
 * @param {Contract} contract
 * @param {Model} model
 * @param {Uint32Array} cached what the model's cache holds
 * @param {GenerateRequest} request
 * @param {(ids: Uint32Array) => void} remember told what the cache holds, whenever that changed
 * @returns {AsyncGenerator<GenerationEvent, void, undefined>}
 */
export async function* generate(contract, model, cached, request, remember) {
  checkOptions(request, FIELDS);
  const { ids, state, report } = composed(contract, request);
  const generation = contract.generation(request.sampling, ids, { special: request.special ?? 'skip' });
  const reply = state === null ? null : contract.reply(state);
  try {
    let keep = common(cached, ids);
    yield { kind: 'prompt', ids, kept: keep, report };
    let append = ids.subarray(keep);
    const held = [...ids];
    for (let reason = null; reason === null; ) {
      remember(Uint32Array.from(held.slice(0, keep))); // while the model works nothing after these is certain
      const row = await logits(model, keep, append, generation.steps);
      remember(Uint32Array.from(held));
      const step = generation.step(row, { top: request.top ?? 0 });
      // A token that ends the turn may not be one that stops the generation.
      const said = reply === null || reply.ended ? [] : reply.push(step.sample.id);
      yield { kind: 'step', sample: step.sample, text: step.text, state: reply?.state ?? null };
      for (const event of said) yield { kind: 'reply', event };
      keep = held.length;
      held.push(step.sample.id);
      append = Uint32Array.of(step.sample.id);
      reason = step.reason;
    }
    if (reply !== null && !reply.ended) for (const event of reply.finish()) yield { kind: 'reply', event };
    yield { kind: 'end', result: generation.result, message: reply?.message ?? null };
  } finally {
    generation.dispose();
    reply?.dispose();
  }
}

/**
 * The prompt's ids, and the state of the template's machine in which the reply begins.
 * @param {Contract} contract
 * @param {GenerateRequest} request
 * @returns {{ids: Uint32Array, state: string | null, report: Record<string, unknown> | null}}
 */
function composed(contract, request) {
  const given = SOURCES.filter((name) => request[name] !== undefined);
  if (given.length !== 1) {
    throw new Slm2Error('invalid_value', { field: 'request', expected: `one of ${SOURCES.join(', ')}`, found: given.join(', ') || 'none' });
  }
  const onSpecial = request.onSpecial ?? 'literal';
  if (request.ids !== undefined) return { ids: Uint32Array.from(idsOf(contract.core, request.ids)), state: request.state ?? null, report: null };
  if (request.prompt !== undefined) {
    const assembly = contract.prompt.assemble(request.prompt, { onSpecial });
    const { inputIds: ids, report } = assembly;
    assembly.dispose();
    return { ids, state: report.state, report };
  }
  const rendering = contract.template.renderRequest(request.conversation, { onSpecial });
  const composed = { ids: rendering.inputIds, state: rendering.state, report: { findings: rendering.findings } };
  rendering.dispose();
  return composed;
}

/**
 * @param {Model} model
 * @param {number} keep
 * @param {Uint32Array} append
 * @param {number} step
 */
async function logits(model, keep, append, step) {
  try {
    return await model.logits(keep, append);
  } catch (error) {
    throw new Slm2Error('model_failed', { step, reason: error instanceof Error ? error.message : String(error) });
  }
}

/**
 * How many ids at the beginning are the same; one less than all, since the model gives logits for what it is given only.
 * @param {Uint32Array} cached
 * @param {Uint32Array} ids
 */
function common(cached, ids) {
  const most = Math.min(cached.length, ids.length - 1);
  let count = 0;
  while (count < most && cached[count] === ids[count]) count += 1;
  return Math.max(count, 0);
}
