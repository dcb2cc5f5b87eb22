// The page of node.mjs: loads every subject, and waits to be told what to measure.

import { Tokenizer } from '@huggingface/tokenizers';
import { AutoTokenizer, env } from 'transformers-web';
import { init, Tiktoken } from 'tiktoken/init';
import * as slm2 from '../../bindings/js/src/index.js';
import { patternOf, throughput, tiktokenRanks } from './measure.js';

/** @param {string} name */
const bytes = async (name) => new Uint8Array(await (await fetch(`data/${name}`)).arrayBuffer());

const wasm = await bytes('slm2.wasm');
const artifact = await bytes('artifact');
const json = JSON.parse(new TextDecoder().decode(await bytes('tokenizer.json')));
const config = { tokenizer_class: 'Qwen2Tokenizer' };
await init(async (imports) => WebAssembly.instantiate(await bytes('tiktoken.wasm'), imports));
const opened = await slm2.load({ wasm: await WebAssembly.compile(wasm), artifact, profile: 'publisher' });
const tokenizers = new Tokenizer(json, config);
const tiktoken = new Tiktoken(tiktokenRanks(json), {}, patternOf(json));
Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: '/', useBrowserCache: false, fetch: local });
const transformers = await AutoTokenizer.from_pretrained('model');

/** What transformers.js would fetch. @param {string | URL} address */
async function local(address) {
  const name = String(address);
  if (name.endsWith('tokenizer_config.json')) return new Response(JSON.stringify(config));
  return name.endsWith('tokenizer.json') ? new Response(JSON.stringify(json)) : new Response('', { status: 404 });
}

const subjects = [
  { name: 'slm2', encode: (/** @type {string} */ text) => opened.tokenizer.encode(text) },
  { name: '@huggingface/tokenizers', encode: (/** @type {string} */ text) => tokenizers.encode(text).ids },
  { name: 'transformers.js', encode: (/** @type {string} */ text) => transformers.encode(text) },
  { name: 'tiktoken', encode: (/** @type {string} */ text) => tiktoken.encode_ordinary(text) },
];
/** @type {any} */ (globalThis).measured = async (/** @type {any[]} */ texts) => ({ rows: await throughput(subjects, texts) });
