/** Writing to a server that reads slowly: waits come to an end, and leave nothing on the stream. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { writeLine } from '../../activities/sandbox/json-lines.js';

const message = (id: number) => ({ jsonrpc: '2.0' as const, id, method: 'ping' });

it('however many messages wait, each settles when the server reads, and no listener is left', async () => {
  const stream = new PassThrough({ highWaterMark: 1 });
  const counts = () => [stream.listenerCount('drain'), stream.listenerCount('close')];
  const before = counts();
  for (let round = 0; round < 3; round++) {
    const written = Array.from({ length: 40 }, (_, id) => writeLine(stream, message(id)));
    expect(counts()).toEqual(before.map((count) => count + 1));
    stream.resume();
    await Promise.all(written);
    stream.pause();
    expect(counts()).toEqual(before);
  }
});

it('settles when the stream closes instead', async () => {
  const stream = new PassThrough({ highWaterMark: 1 });
  const written = writeLine(stream, message(1));
  stream.destroy();
  await written;
});

it('is refused to a server that reads nothing, before memory fills', async () => {
  const stream = new PassThrough({ highWaterMark: 1 });
  const big = { ...message(1), params: { text: 'x'.repeat(17 * 1024 * 1024) } };
  const first = writeLine(stream, big);
  await expect(writeLine(stream, message(2))).rejects.toThrow('the server has not read 16777216 bytes');
  stream.destroy();
  await first;
});
