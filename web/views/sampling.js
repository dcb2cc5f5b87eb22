// Logits in, an id out: what each step of the sampler leaves, drawn.

import { PRESETS, WIDTH } from '../slm2/index.js';
import { byId, counted, element, orSay, svg } from '../dom.js';

const SAMPLE = ' Paris 9.5\n London 8.9\n Rome 8.6\n Berlin 8.2\n Madrid 7.9\n Lyon 7.4\n the 6.9\n a 6.1\n Vienna 5.6\n Oslo 4.8';
const FIELDS = [
  ['temperature', 'Temperature', 0.05],
  ['top_k', 'top_k (0: off)', 1],
  ['top_p', 'top_p (1: off)', 0.01],
  ['min_p', 'min_p (0: off)', 0.01],
  ['repetition_penalty', 'Repetition penalty', 0.05],
  ['seed', 'Seed', 1],
];
const MANY = 1000;
const ROW = 22;
const WIDE = 720;
const NAMES = 150;

/** @param {{contract: any}} opened */
export function samplingView({ contract }) {
  const view = new View(contract);
  view.restart();
  view.draw(1);
}

class View {
  #contract;
  /** @type {any} */
  #sampler;
  /** Draws of each id since the seed. @type {Map<number, number>} */
  #draws = new Map();

  /** @param {any} contract */
  constructor(contract) {
    this.#contract = contract;
    const preset = { ...PRESETS.thinking, seed: 7 };
    byId('sampling-fields').append(
      ...FIELDS.map(([name, label, step]) => {
        const value = preset[/** @type {keyof typeof preset} */ (name)];
        return element('label', {}, `${label}`, element('input', { type: 'number', id: `sampling-${name}`, value, step, min: name === 'seed' ? 0 : undefined }));
      }),
      element('label', {}, 'Random stream', element('select', { id: 'sampling-rng' }, element('option', {}, 'pcg32'), element('option', {}, 'chacha8'))),
      element('label', {}, 'Seen before (text)', element('input', { type: 'text', id: 'sampling-prompt', value: '' })),
    );
    /** @type {HTMLTextAreaElement} */ (byId('sampling-logits')).value = SAMPLE;
    byId('sampling-draw').onclick = () => this.draw(1);
    byId('sampling-many').onclick = () => this.draw(MANY);
    byId('sampling-restart').onclick = () => {
      this.restart();
      this.draw(1);
    };
    for (const id of ['sampling-fields', 'sampling-logits']) {
      byId(id).oninput = () => {
        this.restart();
        this.draw(1);
      };
    }
  }

  /** Begin at the seed again. */
  restart() {
    orSay(byId('sampling-error'), () => {
      this.#sampler?.dispose();
      this.#sampler = undefined;
      this.#draws.clear();
      const prompt = this.#contract.tokenizer.encode(valueOf('prompt'));
      this.#sampler = this.#contract.sampler(this.#config(), prompt);
    });
  }

  /** @param {number} count */
  draw(count) {
    if (this.#sampler === undefined) return;
    orSay(byId('sampling-error'), () => {
      const { row, names } = this.#logits();
      let drawn;
      for (let at = 0; at < count; at++) {
        drawn = this.#sampler.sample(row, { top: names.size });
        this.#draws.set(drawn.id, (this.#draws.get(drawn.id) ?? 0) + 1);
      }
      this.#show(row, names, drawn);
    });
  }

  /** The configuration as JSON text: numbers as they are written. */
  #config() {
    const numbers = FIELDS.map(([name]) => `"${name}": ${valueOf(String(name)) || 'null'}`);
    return `{${numbers.join(', ')}, "profile": "contract", "rng": "${valueOf('rng')}", "max_tokens": 1000000, "stop_ids": []}`;
  }

  /** @returns {{row: Float32Array, names: Map<number, string>}} */
  #logits() {
    const row = new Float32Array(WIDTH).fill(-Infinity);
    const names = new Map();
    for (const line of /** @type {HTMLTextAreaElement} */ (byId('sampling-logits')).value.split('\n')) {
      const [, text, value] = /^(.*?)\s+(-?[\d.]+)\s*$/.exec(line) ?? [];
      if (text === undefined || text === '') continue;
      const ids = this.#contract.tokenizer.encode(text);
      if (ids.length !== 1) throw new Error(`${JSON.stringify(text)} is ${ids.length} tokens; each line is about one`);
      row[ids[0]] = Number(value);
      names.set(ids[0], text);
    }
    return { row, names };
  }

  /** @param {Float32Array} row @param {Map<number, string>} names @param {any} drawn */
  #show(row, names, drawn) {
    const kept = new Set(this.#sampler.kept());
    const probability = new Map(drawn.top.map((/** @type {any} */ { id, probability }) => [id, probability]));
    const total = [...this.#draws.values()].reduce((sum, count) => sum + count, 0);
    const text = names.get(drawn.id);
    const [before, afterK, afterP, afterMin] = drawn.sizes;
    byId('sampling-drawn').textContent =
      `Drawn: ${JSON.stringify(text)} (id ${drawn.id}) with probability ${drawn.probability.toFixed(4)}. ` +
      `Ids left: ${before}, after top_k ${afterK}, after top_p ${afterP}, after min_p ${afterMin}. ` +
      `${counted(Number(this.#sampler.position), 'random word')} taken, ${counted(total, 'draw')} since the seed.` +
      (drawn.numbers.length === 4 ? ` u = ${drawn.numbers[0].toFixed(6)}.` : '');
    const ids = [...names.keys()].sort((a, b) => Number(row[b]) - Number(row[a]));
    byId('sampling-chart').replaceChildren(this.#chart(ids, row, names, { kept, probability, total, drawn }));
  }

  /**
   * A bar for each logit's probability; a second one for how often it was drawn; lines where the sampler cut.
   * @param {number[]} ids @param {Float32Array} row @param {Map<number, string>} names
   * @param {{kept: Set<number>, probability: Map<number, number>, total: number, drawn: any}} state
   */
  #chart(ids, row, names, { kept, probability, total, drawn }) {
    const height = (ids.length + 1) * ROW;
    const picture = svg('svg', { viewBox: `0 0 ${WIDE} ${height}`, class: 'chart', role: 'img', 'aria-label': 'Kept ids, their probabilities and how often each was drawn' });
    const scale = WIDE - NAMES - 170;
    for (const [at, id] of ids.entries()) {
      const top = at * ROW + 4;
      const share = probability.get(id) ?? 0;
      const often = (this.#draws.get(id) ?? 0) / total;
      picture.append(
        svg('text', { x: NAMES - 8, y: top + 12, 'text-anchor': 'end' }, JSON.stringify(names.get(id))),
        svg('rect', { x: NAMES, y: top, width: Math.max(share * scale, 1), height: 9, class: kept.has(id) ? 'in' : 'out' }),
        svg('rect', { x: NAMES, y: top + 10, width: often * scale, height: 5, class: 'drawn' }),
        svg('text', { x: NAMES + Math.max(share, often) * scale + 8, y: top + 12 }, `${Number(row[id]).toFixed(1)} → ${kept.has(id) ? share.toFixed(4) : 'cut'}${id === drawn.id ? '  ← drawn' : ''}`),
      );
    }
    for (const [count, name] of cuts(drawn.sizes)) {
      const y = Math.min(count, ids.length) * ROW + 1;
      picture.append(svg('line', { x1: 0, x2: WIDE, y1: y, y2: y, class: 'cut' }), svg('text', { x: WIDE - 4, y: y - 3, 'text-anchor': 'end', class: 'cutname' }, name));
    }
    return picture;
  }
}

/**
 * After how many ids which step cut.
 * @param {[number, number, number, number]} sizes
 */
function cuts(sizes) {
  return ['top_k', 'top_p', 'min_p'].map((name, at) => /** @type {const} */ ([sizes[at + 1], name])).filter(([count], at) => Number(count) < Number(sizes[at]));
}

/** @param {string} name */
function valueOf(name) {
  return /** @type {HTMLInputElement} */ (byId(`sampling-${name}`)).value;
}
