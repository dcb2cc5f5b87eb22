// Lines of a stream, cut at U+000A alone: node:readline cuts at U+2028 too, which may stand in JSON.

/**
 * @param {AsyncIterable<Uint8Array>} stream
 * @returns {AsyncGenerator<string>}
 */
export async function* lines(stream) {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  for await (const part of stream) {
    const pieces = (rest + decoder.decode(part, { stream: true })).split('\n');
    rest = pieces.pop() ?? '';
    yield* pieces;
  }
  if (rest !== '') yield rest;
}
