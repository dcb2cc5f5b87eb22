// The page in a real browser, as `slm2 web` serves it: with shared memory (cross-origin isolated) and without.
//
// SLM2_SCREENSHOTS=1 writes the pictures of docs/ anew; else they are taken, and only have to be pictures.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { createRequire } from 'node:module';
import { ROOT, askNative, launch, serveSite } from './chromium.js';

/** @typedef {import('playwright-core').Page} Page */

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const VIEWS = ['tokenizer', 'conversation', 'prompt', 'sampling', 'conformance'];
/** Bytes of the library's memory in a worker: artifact, tables, buffers. The contract allows 100 MB; this is the aim. */
const MEMORY_AIM = 24e6;
/** Of shared memory, which holds what the page itself works in too. */
const MEMORY_SHARED = 100e6;

/** @type {import('playwright-core').Browser} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

for (const isolated of [true, false]) {
  describe(isolated ? 'cross-origin isolated' : 'not isolated', () => {
    /** @type {{address: string, stop: () => void}} */
    let site;
    /** @type {Page} */
    let page;
    /** @type {string[]} */
    const complaints = [];
    /** @type {string[]} */
    const elsewhere = [];

    before(async () => {
      site = await serveSite({ isolated });
      page = await browser.newPage({ viewport: { width: 1240, height: 860 } });
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('request', (request) => request.url().startsWith(site.address) || request.url().startsWith('blob:') || elsewhere.push(request.url()));
      await page.goto(site.address);
      await page.waitForSelector('body[data-views=ready]', { timeout: 20_000 });
    });
    after(async () => {
      await page.close();
      site.stop();
    });

    test('the kind of memory is what the page may have, and is said', async () => {
      assert.equal(await page.evaluate('crossOriginIsolated'), isolated);
      assert.equal(await page.getAttribute('body', 'data-memory'), isolated ? 'shared' : 'plain');
      assert.match(String(await page.textContent('#status')), isolated ? /shared with workers, not copied/ : /each worker has a copy/);
    });

    test('every vector in a worker, within the memory', { timeout: 120_000 }, async () => {
      await page.click('#tab-conformance');
      await page.click('#conformance-run');
      await page.waitForSelector('body[data-conformance]', { timeout: 110_000 });
      const [passed = 0, failed, notAsked, bytes = 0] = String(await page.getAttribute('body', 'data-conformance')).split(' ').map(Number);
      const said = await page.textContent('#conformance-differences');
      assert.deepEqual([failed, said?.trim()], [0, '']);
      assert.ok(passed > 3700, `${passed} passed`);
      assert.ok(notAsked !== undefined && notAsked <= 8, 'traces are the only optional methods');
      assert.ok(bytes < (isolated ? MEMORY_SHARED : MEMORY_AIM), `${bytes} bytes`);
    });

    test('10,000 draws in a worker are those of the native engine', { timeout: 120_000 }, async () => {
      const sampling = { profile: 'contract', rng: 'chacha8', seed: 3, temperature: 0.8, top_k: 40, top_p: 0.9, min_p: 0.01, repetition_penalty: 1.05, max_tokens: 10_000, stop_ids: [] };
      const recipe = { seed: 5, step: 0, scale: 1, head: 6, bfloat16: false };
      const params = { profile: 'contract', config: JSON.stringify(sampling), width: 4096, history: [1, 2], recipe, cycle: 64, steps: 10_000 };
      const request = { id: 1, method: 'draw', params };
      const [native] = await askNative([request]);
      const drawn = await inWorker(page, request);
      assert.equal(drawn.result.ids.length, 10_000);
      assert.ok(new Set(drawn.result.ids).size > 1000);
      assert.deepEqual(drawn, native);
    });

    test('a worker generates, and a generation is cancelled', async () => {
      const reasons = await page.evaluate(generateTwice);
      assert.deepEqual(reasons, ['MaxTokens', 'cancelled']);
    });

    test('no request left the page, and nothing complained', () => {
      assert.deepEqual(elsewhere, []);
      assert.deepEqual(complaints, []);
    });
  });
}

describe('the views', () => {
  /** @type {{address: string, stop: () => void}} */
  let site;
  /** @type {Page} */
  let page;
  before(async () => {
    site = await serveSite({ isolated: true });
    page = await browser.newPage({ viewport: { width: 1240, height: 860 }, colorScheme: 'light', reducedMotion: 'reduce' });
    await page.goto(site.address);
    await page.waitForSelector('body[data-views=ready]', { timeout: 20_000 });
  });
  after(async () => {
    await page.close();
    site.stop();
  });

  test('tabs and tokens by keyboard', async () => {
    await page.focus('#tab-tokenizer');
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.getAttribute('#tab-conversation', 'aria-selected'), 'true');
    assert.ok(await page.isVisible('#conversation'));
    await page.keyboard.press('ArrowLeft');
    await page.fill('#tokenizer-text', 'Hello, world');
    await page.focus('#tokenizer-tokens li');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.textContent('#tokenizer-detail'), 'id 1879 " world", bytes 20 77 6f 72 6c 64, text bytes 6 to 12');
  });

  test('the tokenizer view counts, shows bytes and flags text of special tokens', async () => {
    await page.click('#tab-tokenizer');
    await page.fill('#tokenizer-text', 'e\u0301 <|im_end|>');
    assert.match(String(await page.textContent('#tokenizer-findings')), /<\|im_end\|> at byte 4: not the special token 151645/);
    assert.ok((await page.locator('#tokenizer-tokens li.special').count()) > 1);
    const before = await page.locator('#tokenizer-tokens li').count();
    await page.selectOption('#tokenizer-profile', 'publisher');
    assert.equal(await page.locator('#tokenizer-tokens li').count(), before - 1);
    await page.selectOption('#tokenizer-profile', 'contract');
  });

  test('the conversation is rendered as it is edited, and the machine lights up', async () => {
    await page.click('#tab-conversation');
    assert.equal(await page.textContent('.machine .now'), 'ASSISTANT_OPEN');
    assert.deepEqual(await page.locator('.machine .seen').allTextContents(), ['INIT', 'TOOL_SCHEMAS', 'SYSTEM_TURN', 'USER_TURN', 'ASSISTANT_OPEN']);
    await page.locator('#conversation-messages li').nth(1).locator('select').selectOption('tool');
    assert.match(String(await page.textContent('#conversation-error')), /^(no_user|tool_without_call)/);
    await page.locator('#conversation-messages li').nth(1).locator('select').selectOption('user');
    assert.ok(await page.isHidden('#conversation-error'));
    await page.click('#conversation-play');
    await page.waitForFunction(() => document.querySelector('#conversation-events li:last-child')?.textContent?.startsWith('end'), null, { timeout: 20_000 });
    assert.deepEqual(await page.locator('#conversation-events b').allTextContents(), ['reasoning', 'call', 'end']);
    assert.equal(await page.textContent('.machine .now'), 'END');
  });

  test('the prompt view fills its window', async () => {
    await page.click('#tab-prompt');
    assert.match(String(await page.textContent('#prompt-counts')), /^986 tokens of 4,096, 1,024 reserved for the reply, 2,086 left\.$/);
    const shares = await page.locator('#prompt-bar span').evaluateAll((spans) => spans.map((span) => parseFloat(/** @type {HTMLElement} */ (span).style.width)));
    assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 100) < 0.01);
    await page.fill('#prompt-context', '1960');
    assert.match(String(await page.textContent('#prompt-steps')), /drop chunk retrieved\[forum-7741\] \(pass 2\): 986 to 887 tokens/);
    await page.fill('#prompt-context', '1024');
    assert.match(String(await page.textContent('#prompt-error')), /^budget_exceeded: /);
    await page.fill('#prompt-request', '{"policy": "x"}');
    assert.match(String(await page.textContent('#prompt-error')), /^missing_field: /);
  });

  test('the sampling view draws what the seed says', async () => {
    await page.click('#tab-sampling');
    const first = await page.textContent('#sampling-drawn');
    await page.click('#sampling-many');
    assert.match(String(await page.textContent('#sampling-drawn')), /1,001 draws since the seed/);
    await page.click('#sampling-restart');
    assert.equal(await page.textContent('#sampling-drawn'), first);
    await page.fill('#sampling-top_p', '2');
    assert.match(String(await page.textContent('#sampling-error')), /^invalid_value: /);
    await page.fill('#sampling-top_p', '0.95');
  });

  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    test(`every view is accessible in ${colorScheme}`, { timeout: 60_000 }, async () => {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(AXE);
      for (const view of VIEWS) {
        await page.click(`#tab-${view}`);
        const { violations } = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run());
        assert.deepEqual(violations.map((/** @type {any} */ { id, nodes }) => [view, id, nodes[0].html]), []);
      }
    });
  }

  test('pictures for the documentation', { timeout: 60_000 }, async () => {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.reload();
    await page.waitForSelector('body[data-views=ready]');
    for (const view of ['tokenizer', 'conversation', 'prompt', 'sampling']) {
      await page.click(`#tab-${view}`);
      if (view === 'sampling') await page.click('#sampling-many');
      // How long it took to open is another number each time.
      await page.evaluate(() => void (/** @type {HTMLElement} */ (document.getElementById('status')).textContent = 'Artifact cb9b81d06ca5; memory shared with workers, not copied.'));
      const picture = await page.screenshot();
      assert.deepEqual([...picture.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
      if (process.env.SLM2_SCREENSHOTS) await writeFile(`${ROOT}docs/playground-${view}.png`, picture);
    }
  });
});

/**
 * One request of the testee protocol, in a worker of the page.
 * @param {Page} page
 * @param {object} request
 */
function inWorker(page, request) {
  return page.evaluate(async (asked) => {
    const { openShared, canShareMemory } = await import(/** @type {any} */ ('/slm2/index.js'));
    const { startWorker } = await import(/** @type {any} */ ('/views/conformance.js'));
    const worker = await startWorker(canShareMemory() ? await openShared() : null);
    const answer = await worker.answer('draw', asked);
    worker.terminate();
    return answer;
  }, /** @type {any} */ (request));
}

/** In the page: one generation to its end, another one cancelled. */
async function generateTwice() {
  const { canShareMemory, openShared, configFromPreset } = await import(/** @type {any} */ ('/slm2/index.js'));
  const { startWorker } = await import(/** @type {any} */ ('/views/conformance.js'));
  const worker = await startWorker(canShareMemory() ? await openShared() : null);
  const sampling = (/** @type {number} */ max_tokens) => configFromPreset('thinking', { profile: 'contract', rng: 'pcg32', seed: 1, max_tokens, stop_ids: [] });
  const conversation = { messages: [{ role: 'user', content: 'Hi' }], add_generation_prompt: true };
  let reason;
  let steps = 0;
  // Of random ids some are no text: what ends it is the limit, whatever else it meets.
  for await (const event of worker.generate({ conversation, sampling: sampling(1) })) if (event.kind === 'end') reason = event.result.stoppedBy;
  const stop = new AbortController();
  try {
    for await (const event of worker.generate({ conversation, sampling: sampling(5000) }, { signal: stop.signal, window: 4 })) {
      if (event.kind === 'step' && ++steps === 1) stop.abort();
    }
  } catch (error) {
    return [reason, /** @type {any} */ (error).code];
  } finally {
    worker.terminate();
  }
  return [reason, `ended by itself after ${steps} steps`];
}
