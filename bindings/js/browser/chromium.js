// Chromium and the site, for the tests of the page and for the testee in a browser.

import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];

/** Python with the package slm2: that of the test environment. */
const PYTHON = process.env.SLM2_PYTHON ?? 'python3';

/** @param {...string} command */
function python(...command) {
  return spawn(PYTHON, command, { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] });
}

/** The installed Chromium, or the one that is unpacked when it is first asked for. */
export async function launch() {
  const found = spawnSync(PYTHON, ['tools/fetch_chromium.py'], { cwd: ROOT, encoding: 'utf8' });
  if (found.status !== 0) throw new Error(`no Chromium: ${found.stderr}`);
  return chromium.launch({ executablePath: found.stdout.trim(), args: FLAGS });
}

/**
 * `slm2 web`, as a user starts it.
 * @param {{isolated: boolean}} options
 */
export async function serveSite({ isolated }) {
  const server = python('-m', 'slm2', 'web', 'target/web', '--port', '0', isolated ? '--isolated' : '--not-isolated');
  for await (const line of createInterface({ input: server.stdout })) return { address: line.trim(), stop: () => server.kill('SIGINT') };
  throw new Error('slm2 web did not start; was tools/build_web.py run?');
}

/**
 * The answers of the native engine to requests of the testee protocol.
 * @param {object[]} requests
 */
export async function askNative(requests) {
  const testee = python('-m', 'slm2.conformance.testee', '--engine', 'native');
  testee.stdin.end(requests.map((request) => `${JSON.stringify(request)}\n`).join(''));
  const answers = [];
  for await (const line of createInterface({ input: testee.stdout })) answers.push(JSON.parse(line));
  return answers;
}
