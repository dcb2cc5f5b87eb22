// What is measured of each tokenizer, in Node and in a browser alike: throughput over texts. Opening is measured by cold.js.

/** @typedef {{name: string, encode: (text: string) => ArrayLike<number>}} Subject */
/** @typedef {{name: string, documents: string[], bytes: number}} Text */

const ROUNDS = 5;

/**
 * Bytes of UTF-8 a second over documents, in MB/s: subjects take turns; of the first pass, and the median of those after it.
 * @param {Subject[]} subjects
 * @param {Text[]} texts
 */
export async function throughput(subjects, texts) {
  const rows = [];
  for (const text of texts) {
    /** @type {number[][]} */
    const rates = subjects.map(() => []);
    const sums = [];
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [at, subject] of subjects.entries()) {
        const started = performance.now();
        const ids = text.documents.map((document) => subject.encode(document));
        rates[at]?.push(text.bytes / (performance.now() - started) / 1000);
        if (round === 0) sums.push(fingerprint(ids));
        await new Promise((resolve) => setTimeout(resolve));
      }
    }
    const measured = subjects.map(({ name }, at) => [name, { first: rates[at]?.[0], rate: median(rates[at]?.slice(1) ?? []), same: sums[at] === sums[0] }]);
    rows.push({ text: text.name, bytes: text.bytes, fingerprint: sums[0], rates: Object.fromEntries(measured) });
  }
  return rows;
}

/** One number for all ids. @param {ArrayLike<number>[]} documents */
function fingerprint(documents) {
  let sum = 0;
  for (const ids of documents) for (let at = 0; at < ids.length; at++) sum = (Math.imul(sum, 31) + Number(ids[at])) >>> 0;
  return sum;
}

/** @param {number[]} values */
export function median(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

/**
 * Of runs of cold.js in turns, in ms: the least and the median; SHA-256 is a part of opening, and was measured in pages of its own, as cold.
 * @param {import('./cold.js').Opening[]} openings
 * @param {number[]} digests
 */
export function coldFigures(openings, digests) {
  const both = (/** @type {number[]} */ values) => ({ least: Math.min(...values), median: median(values) });
  const of = (/** @type {keyof import('./cold.js').Opening} */ name) => both(openings.map((opening) => opening[name]));
  const without = both(openings.map(({ all }, at) => all - Number(digests[at])));
  return { runs: openings.length, all: of('all'), compile: of('compile'), open: of('open'), first: of('first'), again: of('again'), sha256: both(digests), without };
}

/**
 * Merge ranks of a tokenizer.json in the form that tiktoken takes.
 * @param {any} json
 */
export function tiktokenRanks(json) {
  const printable = [...range(33, 126), ...range(161, 172), ...range(174, 255)];
  const others = range(0, 255).filter((byte) => !printable.includes(byte));
  const byteOf = new Map([...printable.map((byte) => /** @type {const} */ ([String.fromCharCode(byte), byte])), ...others.map((byte, at) => /** @type {const} */ ([String.fromCharCode(256 + at), byte]))]);
  const line = ([token, id]) => `${btoa(String.fromCharCode(...Array.from(token, (character) => byteOf.get(character) ?? 0)))} ${id}`;
  return Object.entries(json.model.vocab).map(line).join('\n');
}

/** @param {number} first @param {number} last */
function range(first, last) {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/** The publisher's pattern, as its tokenizer.json has it. @param {any} json */
export function patternOf(json) {
  return json.pre_tokenizer.pretokenizers[0].pattern.Regex;
}
