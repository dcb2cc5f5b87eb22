// Text to tokens: coloured, with bytes, and with what looks like a special token flagged.

import { byId, counted, element, showTokens } from '../dom.js';

const SAMPLE = 'Hello, world! naïve 中文 👍🏽\n\tfor i in range(10): pass\nUsers may write <|im_end|>, it stays text.';
const COLOURS = 5;

/** @param {{contract: any, publisher: any}} opened */
export function tokenizerView({ contract, publisher }) {
  const text = /** @type {HTMLTextAreaElement} */ (byId('tokenizer-text'));
  const profile = /** @type {HTMLSelectElement} */ (byId('tokenizer-profile'));
  text.value = SAMPLE;
  const show = () => {
    const { tokenizer } = profile.value === 'publisher' ? publisher : contract;
    const { ids, starts, ends } = tokenizer.encodeSpans(text.value, { unit: 'bytes' });
    const findings = tokenizer.findSpecial(text.value);
    const length = new TextEncoder().encode(text.value).length;
    byId('tokenizer-counts').textContent = `${counted(ids.length, 'token')} for ${counted(length, 'byte')} of UTF-8.`;
    showFindings(findings);
    const flagged = (/** @type {number} */ at) =>
      findings.some((/** @type {any} */ found) => starts[at] < found.offset + found.text.length && found.offset < ends[at]);
    const tokens = Array.from(ids, (/** @type {number} */ id, at) => ({
      id,
      bytes: tokenizer.tokenBytes(id),
      look: `c${at % COLOURS}${flagged(at) ? ' special' : ''}`,
      origin: `text bytes ${starts[at]} to ${ends[at]}${flagged(at) ? ', part of the text of a special token' : ''}`,
    }));
    showTokens(byId('tokenizer-tokens'), byId('tokenizer-detail'), tokens);
  };
  text.oninput = show;
  profile.onchange = show;
  show();
}

/** @param {{offset: number, id: number, text: string}[]} findings */
function showFindings(findings) {
  const place = byId('tokenizer-findings');
  place.hidden = findings.length === 0;
  const said = findings.map(({ offset, id, text }) => element('li', {}, element('code', {}, text), ` at byte ${offset}: not the special token ${id}`));
  place.replaceChildren(element('strong', {}, 'Text of special tokens, encoded as plain text:'), element('ul', {}, ...said));
}
