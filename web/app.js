// The playground: loads the library, then hands it to the views.

import { load, openShared, canShareMemory } from './slm2/index.js';
import { byId } from './dom.js';
import { conformanceView } from './views/conformance.js';
import { conversationView } from './views/conversation.js';
import { promptView } from './views/prompt.js';
import { samplingView } from './views/sampling.js';
import { tokenizerView } from './views/tokenizer.js';

const views = { tokenizer: tokenizerView, conversation: conversationView, prompt: promptView, sampling: samplingView, conformance: conformanceView };

/** One panel at a time; arrow keys go from tab to tab, as the pattern for tabs has it. */
function tabs() {
  const all = /** @type {HTMLElement[]} */ (Array.from(byId('tabs').children));
  const select = (/** @type {HTMLElement} */ chosen) => {
    for (const tab of all) {
      const selected = tab === chosen;
      tab.setAttribute('aria-selected', String(selected));
      tab.tabIndex = selected ? 0 : -1;
      byId(/** @type {string} */ (tab.getAttribute('aria-controls'))).hidden = !selected;
    }
    history.replaceState(null, '', `#${chosen.getAttribute('aria-controls')}`);
  };
  for (const [at, tab] of all.entries()) {
    tab.onclick = () => select(tab);
    tab.onkeydown = ({ key }) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[key];
      const next = to === undefined ? undefined : all[(to + all.length) % all.length];
      if (next === undefined) return;
      select(next);
      next.focus();
    };
  }
  const wanted = all.find((tab) => `#${tab.getAttribute('aria-controls')}` === location.hash);
  if (wanted !== undefined) select(wanted);
}

/** The library over shared memory where the page may have it, else over its own: said on the page either way. */
async function open() {
  const started = performance.now();
  const shared = canShareMemory() ? await openShared() : null;
  const contract = shared === null ? await load() : shared.attach();
  const first = contract.tokenizer.encode('Hello').length;
  const took = performance.now() - started;
  const { memory, digest } = contract.opened;
  const said = memory === 'shared' ? 'shared with workers, not copied' : 'plain: each worker has a copy (the page is not cross-origin isolated)';
  byId('status').textContent = `Artifact ${digest.slice(0, 12)} ready in ${took.toFixed(0)} ms; memory ${said}.`;
  document.body.dataset.memory = memory;
  document.body.dataset.firstIds = String(first);
  document.body.dataset.ready = took.toFixed(1);
  return { contract, publisher: contract.with({ profile: 'publisher' }), shared };
}

tabs();
try {
  const opened = await open();
  for (const view of Object.values(views)) await view(opened);
  document.body.dataset.views = 'ready';
} catch (error) {
  byId('status').textContent = `The page could not start: ${error instanceof Error ? error.message : error}`;
  throw error;
}
