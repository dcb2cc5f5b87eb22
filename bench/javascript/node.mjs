// The tokenizer of slm2 in Node and in Chromium, beside those of JavaScript and tiktoken's WASM: same texts, same process, ids compared. And
// beside the native engine, in the same run: the slm2 that is installed for a Python.
//
//   npm ci --prefix bindings/js && python tools/build_js.py --small
//   node bench/javascript/node.mjs [--corpus DIR] [--json FILE] [--python PYTHON]
//
// Prints tables for each host: MB/s of UTF-8 over documents of 2 kB, the same beside native, and ms from bytes at hand to the first id. Those
// are of a cold page, not of a cold browser: each run is a page in a renderer process of its own, or a process of Node, where no code of the
// module was compiled before; the browser itself has started and come to rest.

import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { coldFigures, patternOf, throughput, tiktokenRanks } from './measure.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PACKAGE = join(ROOT, 'bindings', 'js');
const MODULES = join(PACKAGE, 'node_modules');
const DOCUMENT = 2000;
const MOST = 1_000_000;
/** Cold pages that open, and as many that digest, in turns. */
const PAGES = 11;
/** After which a browser that started, or a page that read its files, is at rest. */
const REST_MS = 1000;
const WASM = join(PACKAGE, 'data', 'slm2.wasm');
const ARTIFACT = join(PACKAGE, 'data', 'qwen3-0.6b.slm2');
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json' };

/** @param {string} name */
const module = (name) => import(pathToFileURL(join(MODULES, name)).href);
/** @param {string} name */
const argument = (name) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined);

/** Texts: the files of a folder, or prose, code and data of this checkout. */
async function texts() {
  const corpus = argument('--corpus');
  const read = async (/** @type {string} */ folder, /** @type {RegExp} */ kind) => {
    const names = (await readdir(folder, { recursive: true })).filter((name) => kind.test(name) && !name.includes('node_modules')).sort();
    return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n').slice(0, MOST);
  };
  const named = corpus
    ? await Promise.all((await readdir(corpus)).sort().map(async (name) => /** @type {const} */ ([name, (await readFile(join(corpus, name), 'utf8')).slice(0, MOST)])))
    : [
        /** @type {const} */ (['prose', await read(join(ROOT, 'contract'), /\.md$/)]),
        /** @type {const} */ (['code', await read(join(ROOT, 'crates'), /\.rs$/)]),
        /** @type {const} */ (['json', await read(join(ROOT, 'contract', 'vectors'), /^(template|prompt).*\.json$/)]),
        /** @type {const} */ (['chinese', '模型只能看到提示词里的内容，分词器把文本变成编号，采样器从概率里取出下一个。今天天气很好，我们去公园散步，顺便买一些水果和蔬菜。'.repeat(3000).slice(0, MOST / 3)]),
      ];
  return named.map(([name, given]) => {
    // The others make special tokens of their text; here nobody is to meet one.
    const text = given.replaceAll('<', '< ');
    const documents = Array.from({ length: Math.ceil(text.length / DOCUMENT) }, (_, at) => text.slice(at * DOCUMENT, (at + 1) * DOCUMENT));
    return { name, documents, bytes: documents.reduce((sum, document) => sum + Buffer.byteLength(document), 0) };
  });
}

/** @param {any} json */
async function subjects(json) {
  const { load } = await import('../../bindings/js/src/index.js');
  const { Tokenizer } = await module('@huggingface/tokenizers/dist/tokenizers.mjs');
  const { AutoTokenizer, env } = await module('@huggingface/transformers/dist/transformers.node.mjs');
  const { Tiktoken } = await module('tiktoken/tiktoken.cjs');
  const folder = await mkdtemp(join(tmpdir(), 'slm2-tokenizer-'));
  const config = { tokenizer_class: 'Qwen2Tokenizer' };
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(json));
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
  Object.assign(env, { allowRemoteModels: false, localModelPath: '' });
  const slm2 = await load({ profile: 'publisher' });
  const tokenizers = new Tokenizer(json, config);
  const transformers = await AutoTokenizer.from_pretrained(folder);
  await rm(folder, { recursive: true });
  const tiktoken = new Tiktoken(tiktokenRanks(json), {}, patternOf(json));
  return [
    { name: 'slm2', encode: (/** @type {string} */ text) => slm2.tokenizer.encode(text) },
    { name: '@huggingface/tokenizers', encode: (/** @type {string} */ text) => tokenizers.encode(text).ids },
    { name: 'transformers.js', encode: (/** @type {string} */ text) => transformers.encode(text) },
    { name: 'tiktoken', encode: (/** @type {string} */ text) => tiktoken.encode_ordinary(text) },
  ];
}

/** The native engine over the same texts, measured in the same way. @param {any[]} given */
function native(given) {
  const command = [join(ROOT, 'bench', 'javascript', 'native.py')];
  const { status, stdout, stderr } = spawnSync(argument('--python') ?? 'python3', command, { input: JSON.stringify(given), encoding: 'utf8', maxBuffer: 1 << 26 });
  if (status !== 0) throw new Error(`native.py ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Cold openings and digests in turns. @param {(what: 'opening' | 'digest') => Promise<any>} run */
async function cold(run) {
  const openings = [];
  const digests = [];
  for (let page = 0; page < PAGES; page++) {
    openings.push(await run('opening'));
    digests.push(await run('digest'));
  }
  return coldFigures(openings, digests);
}

/** In a process of its own. @param {string} what */
async function inProcess(what) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'bench', 'javascript', 'cold_node.mjs'), what, WASM, ARTIFACT], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`cold_node.mjs ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/** In a page of its own; a context of its own has a renderer process of its own. @param {import('playwright-core').Browser} browser @param {string} address */
function inPage(browser, address) {
  return async (/** @type {string} */ what) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(address);
    await page.waitForFunction(() => 'cold' in globalThis);
    await page.waitForTimeout(REST_MS);
    const measured = await page.evaluate((what) => /** @type {any} */ (globalThis).cold(what), what);
    await context.close();
    return measured;
  };
}

/** In Chromium: a page that vite bundles, with the same measures. @param {any[]} given */
async function inChromium(given) {
  const { build } = await module('vite/dist/node/index.js');
  const { launch } = await import('../../bindings/js/browser/chromium.js');
  const folder = await mkdtemp(join(tmpdir(), 'slm2-bench-'));
  await build({
    root: join(ROOT, 'bench', 'javascript'),
    logLevel: 'error',
    resolve: { alias: [{ find: /^(@huggingface\/tokenizers|tiktoken.*)$/, replacement: `${MODULES}/$1` }, { find: /^transformers-web$/, replacement: `${MODULES}/@huggingface/transformers/dist/transformers.web.js` }] },
    build: { outDir: folder, target: 'es2022', emptyOutDir: true, assetsInlineLimit: 0, rollupOptions: { input: ['index.html', 'cold.html'].map((name) => join(ROOT, 'bench', 'javascript', name)) } },
  });
  const files = new Map([
    ['/data/slm2.wasm', WASM],
    ['/data/artifact', ARTIFACT],
    ['/data/tiktoken.wasm', join(MODULES, 'tiktoken', 'tiktoken_bg.wasm')],
    ['/data/tokenizer.json', join(ROOT, '.cache', 'publisher', 'tokenizer.json')],
  ]);
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const file = files.get(path) ?? join(folder, path === '/' ? 'index.html' : path);
    const type = TYPES[/** @type {keyof typeof TYPES} */ (extname(file))] ?? 'application/octet-stream';
    const data = await readFile(file).catch(() => null);
    response.writeHead(data === null ? 404 : 200, { 'Content-Type': type }).end(data);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const browser = await launch();
  try {
    await new Promise((resolve) => setTimeout(resolve, 3 * REST_MS));
    const load = await cold(inPage(browser, `http://localhost:${port}/cold.html`));
    const page = await browser.newPage();
    await page.goto(`http://localhost:${port}/`);
    await page.waitForFunction(() => 'measured' in globalThis);
    const measured = await page.evaluate((texts) => /** @type {any} */ (globalThis).measured(texts), given);
    return { host: `Chromium ${browser.version()}`, ...measured, load };
  } finally {
    await browser.close();
    server.close();
    await rm(folder, { recursive: true });
  }
}

/** @param {any} result @param {any[]} native */
function show({ host, rows, load }, native) {
  const names = Object.keys(rows[0].rates);
  console.log(`\n${host}: MB/s, documents of 2 kB (* other ids than slm2 in profile publisher)\n`);
  console.log(`| text | ${names.join(' | ')} | slm2 / fastest in JavaScript |\n|---|${'---:|'.repeat(names.length + 1)}`);
  for (const { text, rates } of rows) {
    const cells = names.map((name) => `${rates[name].rate.toFixed(1)}${rates[name].same ? '' : '*'}`);
    const best = Math.max(rates['@huggingface/tokenizers'].rate, rates['transformers.js'].rate);
    console.log(`| ${text} | ${cells.join(' | ')} | ${(rates.slm2.rate / best).toFixed(1)} |`);
  }
  console.log(`\n${host}: slm2 beside the native engine, MB/s, of texts that come for the first time and of those that came before\n`);
  console.log(`| text | native, first | slm2, first | ratio | native, again | slm2, again | ratio |\n|---|${'---:|'.repeat(6)}`);
  for (const [at, { text, fingerprint, rates }] of rows.entries()) {
    if (native[at].fingerprint !== fingerprint) throw new Error(`${text}: other ids than the native engine`);
    const pair = (/** @type {'first' | 'rate'} */ name) => `${native[at][name].toFixed(1)} | ${rates.slm2[name].toFixed(1)} | ${(rates.slm2[name] / native[at][name]).toFixed(2)}`;
    console.log(`| ${text} | ${pair('first')} | ${pair('rate')} |`);
  }
  const ms = (/** @type {'all' | 'without' | 'compile' | 'open' | 'first' | 'sha256' | 'again'} */ name) => `${load[name].least.toFixed(1)} | ${load[name].median.toFixed(1)}`;
  console.log(`\n${host}: ms from bytes at hand to the first id, of ${load.runs} cold pages or processes\n\n| | least | median |\n|---|---:|---:|`);
  console.log(`| all | ${ms('all')} |\n| all without SHA-256 | ${ms('without')} |\n| SHA-256 in WASM, in as many of its own | ${ms('sha256')} |`);
  console.log(`| compile | ${ms('compile')} |\n| open | ${ms('open')} |\n| first call | ${ms('first')} |\n| all, a second time there | ${ms('again')} |`);
}

const json = JSON.parse(await readFile(join(ROOT, '.cache', 'publisher', 'tokenizer.json'), 'utf8'));
const given = await texts();
const load = await cold(inProcess);
const beside = native(given);
const results = [{ host: `Node ${process.versions.node}`, rows: await throughput(await subjects(json), given), load }];
show(results[0], beside);
results.push(await inChromium(given));
show(results[1], beside);
const file = argument('--json');
if (file !== undefined) await writeFile(file, `${JSON.stringify({ native: beside, results }, null, 1)}\n`);
