// A decoder model in ONNX, made on the spot: random weights, a cache, and the inputs and outputs that Optimum gives a real one.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const WIDTH = 151_936;
/** Size of a cached vector: one layer, one head. */
const SIZE = 4;
const FLOAT = 1;
const INT64 = 7;

// ---- protocol buffers, as much as a model needs ----

/** @param {number | bigint} value */
function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Uint8Array.of(...bytes, Number(rest));
}

/** @param {...Uint8Array} parts */
function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @param {number} field @param {number | bigint} value */
const integer = (field, value) => joined(varint(field << 3), varint(value));
/** @param {number} field @param {Uint8Array | string} value */
function bytes(field, value) {
  const data = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  return joined(varint((field << 3) | 2), varint(data.length), data);
}

// ---- a model (onnx.proto) ----

/** @param {string} name @param {number} type @param {number[]} dims @param {ArrayBufferView} data */
function tensor(name, type, dims, data) {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return joined(...dims.map((size) => integer(1, size)), integer(2, type), bytes(8, name), bytes(9, raw));
}

/** @param {string} name @param {number} type @param {(number | string)[]} dims */
function value(name, type, dims) {
  const shape = dims.map((size) => bytes(1, typeof size === 'number' ? integer(1, size) : bytes(2, size)));
  return joined(bytes(1, name), bytes(2, bytes(1, joined(integer(1, type), bytes(2, joined(...shape))))));
}

/** @param {string} op @param {string[]} inputs @param {string[]} outputs @param {Record<string, number>} [attributes] */
function node(op, inputs, outputs, attributes = {}) {
  const written = Object.entries(attributes).map(([name, number]) => bytes(5, joined(bytes(1, name), integer(3, number), integer(20, 2))));
  return joined(...inputs.map((name) => bytes(1, name)), ...outputs.map((name) => bytes(2, name)), bytes(4, op), ...written);
}

/** Small numbers from a seed. @param {number} count @param {number} seed */
function random(count, seed) {
  let state = seed;
  return Float32Array.from({ length: count }, () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 31 - 1));
}

/**
 * logits = mean of the vectors of all ids so far, times a matrix: each row depends on the whole history, through the cache.
 * @returns {Uint8Array}
 */
export function tinyModel() {
  const rows = ['batch_size', 'sequence_length'];
  const past = ['batch_size', 1, 'past_sequence_length', SIZE];
  const present = ['batch_size', 1, 'total_sequence_length', SIZE];
  const graph = joined(
    bytes(1, node('Gather', ['embedding', 'input_ids'], ['vectors'], { axis: 0 })),
    bytes(1, node('Unsqueeze', ['vectors', 'head_axis'], ['headed'])),
    bytes(1, node('Concat', ['past_key_values.0.key', 'headed'], ['present.0.key'], { axis: 2 })),
    bytes(1, node('Concat', ['past_key_values.0.value', 'headed'], ['present.0.value'], { axis: 2 })),
    bytes(1, node('ReduceMean', ['present.0.value'], ['mean'], { keepdims: 1 })),
    bytes(1, node('ReduceSum', ['present.0.key', 'id_axis'], ['sum'], { keepdims: 0 })),
    bytes(1, node('Add', ['sum', 'bias'], ['state'])),
    bytes(1, node('MatMul', ['state', 'matrix'], ['row'])),
    // One row for each id that came, as a decoder has it: all the same here, since the last one alone is read.
    bytes(1, node('Shape', ['input_ids'], ['shape'])),
    bytes(1, node('Concat', ['shape', 'one'], ['spread'], { axis: 0 })),
    bytes(1, node('Expand', ['row', 'spread'], ['logits'])),
    bytes(2, 'tiny'),
    bytes(5, tensor('embedding', FLOAT, [WIDTH, SIZE], random(WIDTH * SIZE, 1))),
    bytes(5, tensor('matrix', FLOAT, [SIZE, WIDTH], random(SIZE * WIDTH, 2))),
    bytes(5, tensor('bias', FLOAT, [SIZE], random(SIZE, 3))),
    bytes(5, tensor('head_axis', INT64, [1], BigInt64Array.of(1n))),
    bytes(5, tensor('id_axis', INT64, [1], BigInt64Array.of(2n))),
    bytes(5, tensor('one', INT64, [1], BigInt64Array.of(1n))),
    bytes(11, value('input_ids', INT64, rows)),
    bytes(11, value('attention_mask', INT64, ['batch_size', 'total_sequence_length'])),
    bytes(11, value('position_ids', INT64, rows)),
    bytes(11, value('past_key_values.0.key', FLOAT, past)),
    bytes(11, value('past_key_values.0.value', FLOAT, past)),
    bytes(12, value('logits', FLOAT, [...rows, WIDTH])),
    bytes(12, value('present.0.key', FLOAT, present)),
    bytes(12, value('present.0.value', FLOAT, present)),
  );
  return joined(integer(1, 8), bytes(7, graph), bytes(8, joined(bytes(1, ''), integer(2, 17))));
}

/** The config.json of a model of this family, as small as the one above. */
export const CONFIG = {
  model_type: 'qwen3', architectures: ['Qwen3ForCausalLM'], vocab_size: WIDTH, hidden_size: SIZE, head_dim: SIZE, intermediate_size: SIZE,
  num_hidden_layers: 1, num_attention_heads: 1, num_key_value_heads: 1, max_position_embeddings: 40960, eos_token_id: 151645,
}; // prettier-ignore

/**
 * A folder that transformers.js takes for a model.
 * @param {string} folder
 */
export async function writeTinyModel(folder) {
  await mkdir(join(folder, 'onnx'), { recursive: true });
  await writeFile(join(folder, 'onnx', 'model.onnx'), tinyModel());
  await writeFile(join(folder, 'config.json'), JSON.stringify(CONFIG));
}
