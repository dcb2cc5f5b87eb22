// A request of Prompt2: what got in, whose it is, and how much of the window it takes.

import { byId, counted, element, orSay, showTokens } from '../dom.js';
import { shown } from './conversation.js';

/** @param {{contract: any}} opened */
export async function promptView({ contract }) {
  const text = /** @type {HTMLTextAreaElement} */ (byId('prompt-request'));
  text.value = await (await fetch('example.json')).text();
  const context = /** @type {HTMLInputElement} */ (byId('prompt-context'));
  text.oninput = () => show(contract, text.value);
  context.oninput = () => {
    text.value = text.value.replace(/"context":\s*\d+/, `"context": ${context.value}`);
    show(contract, text.value);
  };
  show(contract, text.value);
}

/** @param {any} contract @param {string} request */
function show(contract, request) {
  orSay(byId('prompt-error'), () => {
    const assembly = contract.prompt.assemble(request);
    const { budget, sources, tokens, ledger } = assembly.toJSON();
    assembly.dispose();
    byId('prompt-counts').textContent =
      `${counted(budget.prompt_tokens, 'token')} of ${budget.context.toLocaleString('en')}, ` +
      `${budget.reserve.toLocaleString('en')} reserved for the reply, ${budget.left.toLocaleString('en')} left.`;
    showBar(budget, sources);
    showSources(sources);
    showSteps(ledger.steps);
    showTokens(byId('prompt-tokens'), byId('prompt-detail'), tokens.map((/** @type {any} */ token) => shown(contract, token)));
  });
}

/** @param {any} budget @param {any[]} sources */
function showBar({ context, reserve, prompt_tokens, left }, sources) {
  const segment = (/** @type {number} */ tokens, /** @type {string} */ look, /** @type {string} */ name) => {
    const made = element('span', { className: look, title: `${name}: ${counted(tokens, 'token')}` }, tokens / context > 0.05 ? name : '');
    made.style.width = `${(100 * tokens) / context}%`;
    return made;
  };
  const bar = byId('prompt-bar');
  bar.replaceChildren(...sources.map(({ source, trust, tokens }) => segment(tokens, trust, source)), segment(left, '', 'left'), segment(reserve, 'reserve', 'reply'));
  bar.setAttribute('aria-label', `Window of ${context} tokens: prompt ${prompt_tokens}, left ${left}, reserved for the reply ${reserve}`);
}

/** @param {any[]} sources */
function showSources(sources) {
  const row = (/** @type {any} */ { source, trust, tokens }) =>
    element('tr', {}, element('th', { scope: 'row' }, source), element('td', {}, element('span', { className: trust }, trust)), element('td', { className: 'number' }, String(tokens)));
  byId('prompt-sources').querySelector('tbody')?.replaceChildren(...sources.map(row));
}

/** What was given up to fit, step by step, and why. @param {any[]} steps */
function showSteps(steps) {
  const said = steps.map(({ pass, action, source, before, after, why }) => {
    const head = element('strong', {}, `${String(action).replaceAll('_', ' ')} ${source ?? ''}`);
    return element('li', {}, head, ` (pass ${pass}): ${before} to ${after} tokens. ${why}`);
  });
  byId('prompt-steps').replaceChildren(...said);
  byId('prompt-removed').hidden = steps.length === 0;
}
