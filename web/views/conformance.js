// The vectors, run in a worker of this page over the testee protocol.

import { Slm2Worker } from '../slm2/index.js';
import { byId, counted, element } from '../dom.js';

const MOST_SHOWN = 20;
/** Requests that may be on their way: as many as a runner may write ahead (contract/conformance.md, C-2). */
const AHEAD = 64;

/** @param {{shared: any}} opened */
export function conformanceView({ shared }) {
  const button = /** @type {HTMLButtonElement} */ (byId('conformance-run'));
  button.onclick = async () => {
    button.disabled = true;
    try {
      await run(shared);
    } catch (error) {
      byId('conformance-progress').textContent = `The run failed: ${error instanceof Error ? error.message : error}`;
    } finally {
      button.disabled = false;
    }
  };
}

/** @param {any} shared */
async function run(shared) {
  const started = performance.now();
  const worker = await startWorker(shared);
  const rows = byId('conformance-files').querySelector('tbody');
  rows?.replaceChildren();
  byId('conformance-differences').replaceChildren();
  byId('conformance-files').hidden = false;
  try {
    const hello = await ask(worker, 0, 'hello', {});
    const names = await read('vectors/index.json');
    const files = await Promise.all(names.map((/** @type {string} */ name) => read(`vectors/${name}`)));
    const total = files.reduce((sum, file) => sum + file.calls.length, 0);
    const report = { ...hello.result, files: /** @type {any[]} */ ([]), passed: 0, failed: 0, not_asked: 0 };
    for (const file of files) {
      const result = await runFile(worker, file, report, total);
      report.files.push(result);
      rows?.append(fileRow(result));
    }
    report.bytes = await worker.answer('bytes', {});
    show(report, (performance.now() - started) / 1000);
  } finally {
    worker.terminate();
  }
}

/** @param {any} shared */
export function startWorker(shared) {
  const worker = new Worker(new URL('../worker.js', import.meta.url), { type: 'module' });
  return Slm2Worker.start(worker, shared === null ? { load: {} } : { shared });
}

/** @param {string} name */
async function read(name) {
  return (await fetch(name)).json();
}

/** @param {Slm2Worker} worker @param {number} id @param {string} method @param {any} params */
function ask(worker, id, method, params) {
  return worker.answer(method, { id, method, params });
}

/**
 * @param {Slm2Worker} worker
 * @param {any} file
 * @param {any} report
 * @param {number} total
 */
async function runFile(worker, file, report, total) {
  const result = { name: file.name, passed: 0, failed: 0, not_asked: 0, differences: /** @type {any[]} */ ([]) };
  if (file.semantic_digest !== report.semantic_digest) throw new Error(`${file.name} is for another artifact`);
  for (let first = 0; first < file.calls.length; first += AHEAD) {
    const calls = file.calls.slice(first, first + AHEAD);
    const asked = (/** @type {any} */ { method, params }, /** @type {number} */ at) => (report.methods.includes(method) ? ask(worker, first + at, method, params) : null);
    const answers = await Promise.all(calls.map(asked));
    for (const [at, call] of calls.entries()) judge(result, call, answers[at]);
    const done = report.files.reduce((/** @type {number} */ sum, /** @type {any} */ { passed, failed, not_asked }) => sum + passed + failed + not_asked, 0) + first + calls.length;
    progress(done / total, `${done.toLocaleString('en')} of ${total.toLocaleString('en')} vectors`);
  }
  for (const name of /** @type {const} */ (['passed', 'failed', 'not_asked'])) report[name] += result[name];
  return result;
}

/** @param {any} result @param {any} call @param {any} answer */
function judge(result, call, answer) {
  if (answer === null) result.not_asked += 1;
  else if (canonical('expect' in call ? call.expect : call.error) === canonical('expect' in call ? answer.result : answer.error)) result.passed += 1;
  else {
    result.failed += 1;
    result.differences.push({ id: call.id, profile: call.profile, expected: call.expect ?? call.error, answer });
  }
}

/**
 * One text for one JSON value. The reader of the expected ones knows doubles alone, so that a larger integer is compared as one.
 * @param {any} value
 * @returns {string}
 */
function canonical(value) {
  const sorted = (/** @type {string} */ _, /** @type {any} */ member) =>
    typeof member === 'bigint' ? Number(member) : member !== null && typeof member === 'object' && !Array.isArray(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member;
  return value === undefined ? 'nothing' : JSON.stringify(value, sorted);
}

/** @param {number} share @param {string} said */
function progress(share, said) {
  const bar = /** @type {HTMLProgressElement} */ (byId('conformance-bar'));
  bar.hidden = false;
  bar.value = share;
  byId('conformance-progress').textContent = said;
}

/** @param {any} result */
function fileRow({ name, passed, failed, not_asked }) {
  const number = (/** @type {number} */ value, look = '') => element('td', { className: `number ${look}` }, value.toLocaleString('en'));
  return element('tr', {}, element('th', { scope: 'row' }, name), number(passed, 'good'), number(failed, failed ? 'bad' : ''), number(not_asked));
}

/** @param {any} report @param {number} seconds */
function show(report, seconds) {
  const { passed, failed, not_asked, host, bytes } = report;
  byId('conformance-progress').textContent =
    `${counted(passed, 'answer')} as expected, ${failed} not, ${not_asked} not asked (optional methods), in ${seconds.toFixed(1)} s. ` +
    `${host.runtime}, ${host.platform}, ${host.name}; the library's memory has ${(bytes / 1e6).toFixed(1)} MB.`;
  const differences = report.files.flatMap((/** @type {any} */ file) => file.differences).slice(0, MOST_SHOWN);
  byId('conformance-differences').replaceChildren(
    ...differences.map((/** @type {any} */ { id, profile, expected, answer }) =>
      element('details', {}, element('summary', {}, `${id} (${profile})`), element('pre', {}, `expected ${JSON.stringify(expected)}\nanswered ${JSON.stringify(answer)}`)),
    ),
  );
  const save = /** @type {HTMLAnchorElement} */ (byId('conformance-save'));
  save.href = URL.createObjectURL(new Blob([JSON.stringify(report, null, 1)], { type: 'application/json' }));
  save.hidden = false;
  document.body.dataset.conformance = `${passed} ${failed} ${not_asked} ${bytes}`;
}
