// A conversation to edit, its rendering, and the machine that rendered it.

import { byId, counted, element, orSay, showTokens } from '../dom.js';
import { Machine } from './machine.js';

const ROLES = ['system', 'user', 'assistant', 'tool'];
const TRUSTS = ['program', 'policy', 'application', 'untrusted'];
const SAMPLE = [
  { role: 'system', content: 'Answer in one sentence.' },
  { role: 'user', content: 'What is the weather in Paris?' },
];
const TOOLS = '[{"type": "function", "function": {"name": "weather", "description": "Weather now", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]';
const REPLY = '<think>\nI need the weather.\n</think>\n\n<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call><|im_end|>';
const PACE = 45;

/** @param {{contract: any}} opened */
export async function conversationView({ contract }) {
  const machine = new Machine(await (await fetch('machine.json')).json());
  byId('conversation-machine').append(machine.picture);
  byId('conversation-legend').append(...TRUSTS.filter((trust) => trust !== 'policy').map((trust) => element('li', { className: trust }, trust)));
  const editor = new Editor(() => show(contract, editor, machine));
  byId('conversation-play').onclick = () => play(contract, editor, machine);
  show(contract, editor, machine);
}

/** The messages and options on the page. */
class Editor {
  #changed;
  /** Counts what was changed, so that a reply that is being read stops. */
  version = 0;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = () => {
      this.version += 1;
      changed();
    };
    byId('conversation-messages').append(...SAMPLE.map((message) => this.#row(message)));
    /** @type {HTMLTextAreaElement} */ (byId('conversation-tools')).value = TOOLS;
    /** @type {HTMLTextAreaElement} */ (byId('conversation-reply')).value = REPLY;
    byId('conversation-add').onclick = () => {
      const row = this.#row({ role: 'user', content: '' });
      byId('conversation-messages').append(row);
      row.querySelector('textarea')?.focus();
      this.#changed();
    };
    for (const id of ['thinking', 'generation', 'preserve', 'tools']) byId(`conversation-${id}`).oninput = this.#changed;
  }

  /** @param {{role: string, content: string}} message */
  #row({ role, content }) {
    const select = element('select', { 'aria-label': 'Role' }, ...ROLES.map((name) => element('option', { value: name, selected: name === role }, name)));
    const text = element('textarea', { value: content, rows: 2, 'aria-label': 'Content', spellcheck: false });
    const remove = element('button', { type: 'button', 'aria-label': 'Remove this message' }, '✕');
    const row = element('li', {}, select, text, remove);
    select.oninput = this.#changed;
    text.oninput = this.#changed;
    remove.onclick = () => {
      row.remove();
      byId('conversation-add').focus();
      this.#changed();
    };
    return row;
  }

  /** The request as JSON text: tools stay as they are written. */
  request(messages = this.messages, generation = /** @type {HTMLInputElement} */ (byId('conversation-generation')).checked) {
    const tools = /** @type {HTMLTextAreaElement} */ (byId('conversation-tools')).value.trim();
    const thinking = /** @type {HTMLSelectElement} */ (byId('conversation-thinking')).value;
    const preserve = /** @type {HTMLInputElement} */ (byId('conversation-preserve')).checked;
    return `{"messages": ${JSON.stringify(messages)}, "tools": ${tools || 'null'}, "enable_thinking": ${thinking}, "add_generation_prompt": ${generation}, "preserve_thinking": ${preserve}}`;
  }

  get messages() {
    const rows = /** @type {HTMLElement[]} */ (Array.from(byId('conversation-messages').children));
    return rows.map((row) => ({ role: row.querySelector('select')?.value ?? '', content: row.querySelector('textarea')?.value ?? '' }));
  }
}

/** @param {any} contract @param {Editor} editor @param {Machine} machine */
function show(contract, editor, machine) {
  byId('conversation-events').replaceChildren();
  orSay(byId('conversation-error'), () => {
    const rendering = contract.template.renderRequest(editor.request());
    const tokens = rendering.tokens.map((/** @type {any} */ token) => shown(contract, token));
    showTokens(byId('conversation-tokens'), byId('conversation-detail'), tokens);
    byId('conversation-counts').textContent = `${counted(tokens.length, 'token')}, ${counted(rendering.findings.length, 'finding')} of special-token text.`;
    machine.clear();
    for (const state of ['INIT', ...rendering.path]) machine.enter(state);
    byId('conversation-state').textContent = `The machine stands in ${rendering.state}.`;
    rendering.dispose();
  });
}

/** @param {any} contract @param {any} token */
export function shown(contract, token) {
  const ranges = token.ranges.map((/** @type {any} */ { source, start, end }) => `${source} ${start} to ${end}`).join(', ');
  const structural = token.part === 'structure' || token.role === 'program';
  return {
    id: token.id,
    bytes: contract.tokenizer.tokenBytes(token.id),
    look: `${token.trust}${structural && token.trust === 'program' ? ' structural' : ''}`,
    origin: [token.role, token.part, token.trust, ranges].filter(Boolean).join(', '),
  };
}

/** @param {any} contract @param {Editor} editor @param {Machine} machine */
async function play(contract, editor, machine) {
  const list = byId('conversation-events');
  const button = /** @type {HTMLButtonElement} */ (byId('conversation-play'));
  const version = editor.version;
  list.replaceChildren();
  button.disabled = true;
  try {
    const rendering = contract.template.renderRequest(editor.request(editor.messages, true));
    const reply = contract.reply(rendering.state);
    rendering.dispose();
    const ids = contract.tokenizer.encodeTrusted(/** @type {HTMLTextAreaElement} */ (byId('conversation-reply')).value);
    for (const id of ids) {
      if (editor.version !== version || reply.ended) break;
      say(list, reply.push(id));
      machine.enter(reply.state, { reply: true });
      byId('conversation-state').textContent = `The reply stands in ${reply.state}.`;
      await new Promise((resolve) => setTimeout(resolve, PACE));
    }
    if (!reply.ended && editor.version === version) say(list, reply.finish());
    reply.dispose();
  } catch (error) {
    orSay(byId('conversation-error'), () => {
      throw error;
    });
  } finally {
    button.disabled = false;
  }
}

/** @param {HTMLElement} list @param {any[]} events */
function say(list, events) {
  for (const { kind, text, name, arguments: given, reason } of events) {
    const last = list.lastElementChild;
    const said = [text, name && `${name}(${given})`, reason].filter(Boolean).join(' ');
    if (last instanceof HTMLElement && last.dataset.kind === kind && (kind === 'content' || kind === 'reasoning')) last.append(said);
    else {
      const item = element('li', {}, element('b', {}, kind), said ? `: ${said}` : '');
      item.dataset.kind = kind;
      list.append(item);
    }
  }
}
