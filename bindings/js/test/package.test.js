// The package as it is published: packed, installed into an empty project, typed, run by Node, bundled by vite.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const NPM = process.platform === 'win32' ? 'npm.cmd' : 'npm';

/** @type {string} */
let project;
before(async () => {
  project = await mkdtemp(join(tmpdir(), 'slm2-project-'));
  await writeFile(join(project, 'package.json'), '{"name": "empty", "private": true, "type": "module"}');
  const { stdout } = await run(NPM, ['pack', '--json', '--pack-destination', project], { cwd: PACKAGE });
  const [{ filename }] = JSON.parse(stdout);
  await run(NPM, ['install', '--offline', '--no-audit', '--no-fund', join(project, filename)], { cwd: project });
});
after(() => rm(project, { recursive: true, force: true }));

test('what is packed is what is meant to be', async () => {
  const installed = join(project, 'node_modules', 'slm2');
  const names = (await readdir(installed, { recursive: true })).filter((name) => /\.\w+$/.test(name)).map((name) => name.replaceAll('\\', '/'));
  for (const name of ['data/slm2.wasm', 'data/slm2-shared.wasm', 'data/qwen3-0.6b.slm2', 'src/index.js', 'types/index.d.ts', 'README.md']) assert.ok(names.includes(name), name);
  assert.deepEqual(names.filter((name) => /\.test\.|^test\/|browser\/|node_modules|tsconfig/.test(name)), []);
  assert.deepEqual(Object.keys(JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))).filter((key) => key === 'dependencies'), []);
});

test('Node runs it', async () => {
  const script = join(project, 'run.js');
  await writeFile(script, "import { load } from 'slm2';\nconst slm2 = await load();\nconsole.log(...slm2.tokenizer.encode('Hello, world'));\n");
  assert.equal((await run(process.execPath, [script], { cwd: project })).stdout, '9707 11 1879\n');
});

test('TypeScript knows it', async () => {
  const source = `import { load, Slm2Error, Slm2Worker, type Profile } from 'slm2';
import { serve } from 'slm2/worker';
import { onnxruntimeModel } from 'slm2/adapters/onnxruntime';
const profile: Profile = 'contract';
const slm2 = await load({ profile });
const ids: Uint32Array = slm2.tokenizer.encode('x');
try { slm2.template.render([{ role: 'user', content: 'x' }]).inputIds; } catch (error) { if (error instanceof Slm2Error && error.code === 'no_user') console.log(error.fields); }
// @ts-expect-error: there is no such profile
await load({ profile: 'both' });
// @ts-expect-error: what becomes of special tokens is always said
slm2.tokenizer.decode(ids, {});
void [serve, Slm2Worker, onnxruntimeModel];
`;
  await writeFile(join(project, 'use.ts'), source);
  const options = { target: 'es2022', module: 'nodenext', moduleResolution: 'nodenext', strict: true, noEmit: true, skipLibCheck: true, lib: ['es2023', 'dom'], types: [] };
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['use.ts'] }));
  await run(process.execPath, [join(PACKAGE, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', project]).catch((error) => assert.fail(error.stdout));
});

test('vite bundles it, its worker and its data', { timeout: 60_000 }, async () => {
  await mkdir(join(project, 'app'));
  const write = (/** @type {string} */ name, /** @type {string} */ text) => writeFile(join(project, 'app', name), text);
  await write('index.html', '<!doctype html><script type="module" src="main.js"></script>');
  await write('main.js', "import { load, Slm2Worker } from 'slm2';\nconst worker = await Slm2Worker.start(new Worker(new URL('./worker.js', import.meta.url), { type: 'module' }));\ndocument.title = String((await load()).tokenizer.count('Hello')) + worker.opened.memory;\n");
  await write('worker.js', "import { serve } from 'slm2/worker';\nserve({ model: () => ({ logits: () => new Float32Array(151936) }) });\n");
  await build({ root: join(project, 'app'), logLevel: 'error', worker: { format: 'es' }, build: { target: 'es2022' } });
  const assets = await readdir(join(project, 'app', 'dist', 'assets'));
  for (const kind of [/^slm2-[^.]*\.wasm$/, /^slm2-shared-[^.]*\.wasm$/, /\.slm2$/, /^worker-.*\.js$/]) assert.ok(assets.some((name) => kind.test(name)), `${kind} of ${assets}`);
  for (const name of assets.filter((asset) => asset.endsWith('.js'))) {
    assert.doesNotMatch(await readFile(join(project, 'app', 'dist', 'assets', name), 'utf8'), /node:fs/);
  }
});

test('a module as it is published is under 400 kB, 200 kB gzipped', async () => {
  // The one over shared memory is always built so. The plain one of a checkout may have rustup's library, whose panics have texts.
  const most = { 'slm2-shared.wasm': [400_000, 200_000], 'slm2.wasm': [560_000, 230_000] };
  for (const [name, [size = 0, packed = 0]] of Object.entries(most)) {
    const module = await readFile(join(PACKAGE, 'data', name));
    const found = [module.length, gzipSync(module, { level: 9 }).length];
    assert.ok((found[0] ?? 0) < size && (found[1] ?? 0) < packed, `${name} has ${found[0]} bytes, ${found[1]} gzipped`);
  }
});

test('it can be told where its files are', async () => {
  const { load } = await import('slm2').catch(() => import('../src/index.js'));
  const file = (/** @type {string} */ name) => pathToFileURL(join(PACKAGE, 'data', name));
  const slm2 = await load({ artifact: file('qwen3-0.6b.slm2'), wasm: new WebAssembly.Module(await readFile(file('slm2.wasm'))) });
  assert.equal(slm2.tokenizer.count('Hello'), 1);
});
