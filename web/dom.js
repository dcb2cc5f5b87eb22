// Small helpers for the views: elements, errors, lists of tokens.

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string)} children
 */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes('-') || key === 'role' || key === 'scope') made.setAttribute(key, String(value));
    else /** @type {any} */ (made)[key] = value;
  }
  made.append(...children);
  return made;
}

/**
 * @param {string} name
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string)} children
 */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/**
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {string} id
 * @returns {Kind}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no element ${id}`);
  return /** @type {Kind} */ (found);
}

/**
 * Do something; where the library refuses, say so in an element made for it.
 * @param {HTMLElement} place
 * @param {() => void} action
 */
export function orSay(place, action) {
  try {
    action();
    place.hidden = true;
  } catch (error) {
    const { code, message } = /** @type {{code?: string, message: string}} */ (error);
    place.textContent = code === undefined ? message : `${code}: ${message}`;
    place.hidden = false;
  }
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Text of bytes, or null where they are none.
 * @param {Uint8Array} bytes
 */
export function textOf(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** @param {Uint8Array} bytes */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
}

/**
 * @typedef {object} ShownToken
 * @property {number} id
 * @property {Uint8Array} bytes
 * @property {string} look class names
 * @property {string} [origin] said beside id and bytes
 */

/**
 * Fill a list with tokens. One of them takes the focus; arrow keys go on from there, and its detail is written below the list.
 * @param {HTMLElement} list
 * @param {HTMLElement} detail
 * @param {ShownToken[]} tokens
 */
export function showTokens(list, detail, tokens) {
  list.replaceChildren(...tokens.map((token, at) => tokenItem(token, at === 0)));
  detail.textContent = '\u00a0';
  const say = (/** @type {Event} */ event) => {
    const item = /** @type {HTMLElement} */ (event.target).closest?.('li');
    const token = item && tokens[Array.prototype.indexOf.call(list.children, item)];
    if (token) detail.textContent = described(token);
  };
  list.onpointerover = say;
  // Focus does not rise, and the event that does has no property.
  for (const item of /** @type {Iterable<HTMLElement>} */ (list.children)) item.onfocus = say;
  list.onkeydown = (event) => moveFocus(list, event);
}

/** @param {ShownToken} token @param {boolean} focusable */
function tokenItem(token, focusable) {
  const text = textOf(token.bytes);
  const item = element('li', { className: `${token.look}${text === null ? ' bytes' : ''}`, tabIndex: focusable ? 0 : -1, title: described(token) });
  // White space that would not be seen has a sign; the sign of a line break stands before the break.
  for (const part of (text ?? hex(token.bytes)).split(/([\n\t])/)) {
    if (part === '\n') item.append(element('span', { className: 'mark' }, '⏎'), '\n');
    else if (part === '\t') item.append(element('span', { className: 'mark' }, '⇥'), '\t');
    else if (part !== '') item.append(part);
  }
  return item;
}

/** @param {ShownToken} token */
function described({ id, bytes, origin }) {
  const text = textOf(bytes);
  const shown = text === null ? '' : ` ${JSON.stringify(text)}`;
  return `id ${id}${shown}, bytes ${hex(bytes)}${origin ? `, ${origin}` : ''}`;
}

/**
 * @param {HTMLElement} list
 * @param {KeyboardEvent} event
 */
function moveFocus(list, event) {
  const items = /** @type {HTMLElement[]} */ (Array.from(list.children));
  const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: items.length - 1 }[event.key];
  const item = to === undefined ? undefined : items[to];
  if (at < 0 || item === undefined) return;
  event.preventDefault();
  for (const other of items) other.tabIndex = other === item ? 0 : -1;
  item.focus();
}
