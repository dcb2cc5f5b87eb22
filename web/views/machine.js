// The template's state machine as a picture: states in a column, renderings on the right, replies (dashed) on the left.

import { svg } from '../dom.js';

const WIDTH = 420;
const BOX = 190;
const ROW = 50;
const TOP = 12;

/** The picture, and which of it is lit up. */
export class Machine {
  /** @type {Map<string, Element>} */
  #states = new Map();
  /** @type {Map<string, Element>} */
  #edges = new Map();
  picture;

  /** @param {{states: string[], edges: {from: string, to: string, label: string, reply: boolean}[]}} machine */
  constructor({ states, edges }) {
    const height = TOP + states.length * ROW;
    this.picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${height}`, class: 'machine', role: 'img', 'aria-label': `State machine of the template: ${states.join(', ')}` });
    for (const edge of edges) this.picture.append(this.#edge(edge, states));
    for (const [at, name] of states.entries()) this.picture.append(this.#state(name, TOP + at * ROW));
  }

  /** @param {string} name @param {number} top */
  #state(name, top) {
    const left = (WIDTH - BOX) / 2;
    const group = svg(
      'g',
      {},
      svg('rect', { x: left, y: top, width: BOX, height: 26, rx: 7 }),
      svg('text', { x: WIDTH / 2, y: top + 17 }, name),
    );
    this.#states.set(name, group);
    return group;
  }

  /** @param {{from: string, to: string, label: string, reply: boolean}} edge @param {string[]} states */
  #edge({ from, to, label, reply }, states) {
    const side = reply ? -1 : 1;
    const x = WIDTH / 2 + side * (BOX / 2);
    const start = TOP + states.indexOf(from) * ROW + 9;
    const end = TOP + states.indexOf(to) * ROW + 17;
    const bow = x + side * (18 + 8 * Math.abs(states.indexOf(to) - states.indexOf(from)));
    const path = svg('path', { d: `M${x} ${start} C${bow} ${start} ${bow} ${end} ${x} ${end}`, class: reply ? 'reply' : '' }, svg('title', {}, `${from} → ${to}: ${label}`));
    this.#edges.set(`${from} ${to} ${reply}`, path);
    return path;
  }

  clear() {
    for (const lit of [...this.#states.values(), ...this.#edges.values()]) lit.classList.remove('seen', 'now', 'walked');
  }

  /**
   * Go to a state.
   * @param {string} name
   * @param {{reply?: boolean}} [how]
   */
  enter(name, { reply = false } = {}) {
    let from;
    for (const [other, group] of this.#states) {
      if (group.classList.contains('now')) from = other;
      group.classList.remove('now');
    }
    this.#edges.get(`${from} ${name} ${reply}`)?.classList.add('walked');
    this.#states.get(name)?.classList.add('seen', 'now');
  }
}
