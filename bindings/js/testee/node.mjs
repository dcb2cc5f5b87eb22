// The testee under Node: one JSON line in, one out (contract/conformance.md).  node bindings/js/testee/node.mjs [--shared] --artifact FILE

import { lines } from './lines.mjs';
import { load, openShared } from '../src/index.js';
import { Testee } from '../src/conformance/testee.js';
import { writeJson } from '../src/json.js';

const at = process.argv.indexOf('--artifact');
const options = at < 0 ? {} : { artifact: process.argv[at + 1] };
const contract = process.argv.includes('--shared') ? (await openShared(options)).attach() : await load(options);
const testee = new Testee(contract, { runtime: `Node ${process.versions.node}`, platform: `${process.platform} ${process.arch}` });
for await (const line of lines(process.stdin)) process.stdout.write(`${writeJson('answer', await testee.answer(JSON.parse(line)))}\n`);
