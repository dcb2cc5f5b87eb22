// The testee in a browser: lines come in here, a worker of a page in Chromium answers them (contract/conformance.md).
//
//   node web/testee.mjs [--not-isolated] --artifact FILE
//
// Needs tools/build_web.py and Python with slm2, which serves the page. With shared memory unless it is told otherwise.

import { readFile } from 'node:fs/promises';
import { launch, serveSite } from '../bindings/js/browser/chromium.js';
import { writeJson } from '../bindings/js/src/json.js';
import { lines } from '../bindings/js/testee/lines.mjs';

const at = process.argv.indexOf('--artifact');
const site = await serveSite({ isolated: !process.argv.includes('--not-isolated') });
const browser = await launch();
try {
  const page = await browser.newPage();
  await page.route('**/data/qwen3-0.6b.slm2', async (route) => {
    if (at < 0) return route.continue();
    const response = await route.fetch();
    return route.fulfill({ response, body: await readFile(String(process.argv[at + 1])) });
  });
  await page.goto(site.address);
  await page.evaluate(async () => {
    const { openShared, canShareMemory } = await import(/** @type {any} */ ('/slm2/index.js'));
    const { startWorker } = await import(/** @type {any} */ ('/views/conformance.js'));
    /** @type {any} */ (globalThis).testee = await startWorker(canShareMemory() ? await openShared() : null);
  });
  const answer = (/** @type {any} */ request) => page.evaluate((asked) => /** @type {any} */ (globalThis).testee.answer('testee', asked), request);
  for await (const line of lines(process.stdin)) process.stdout.write(`${writeJson('answer', await answer(JSON.parse(line)))}\n`);
} finally {
  await browser.close();
  site.stop();
}
