/** Frames arrive cut anywhere; what is in them arrives whole and in order. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Frames } from '../../../activities/sandbox/docker/frames.js';

const frame = (stream: number, content: Uint8Array): Buffer => {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(content.length, 4);
  return Buffer.concat([header, content]);
};

function reader() {
  const parts: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  const frames = new Frames({
    stdout: (part) => parts.stdout.push(Buffer.from(part)),
    stderr: (part) => parts.stderr.push(Buffer.from(part)),
  });
  return { frames, read: (name: 'stdout' | 'stderr') => Buffer.concat(parts[name]).toString('hex') };
}

test('any frames, cut anywhere', () => {
  const frames = fc.array(
    fc.record({ stream: fc.constantFrom(1, 2), content: fc.uint8Array({ maxLength: 40 }) }),
  );
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 20 })), (given, cuts) => {
      const { frames, read } = reader();
      let rest = Buffer.concat(given.map(({ stream, content }) => frame(stream, content)));
      for (const cut of cuts) {
        frames.read(rest.subarray(0, cut));
        rest = rest.subarray(cut);
      }
      frames.read(rest);
      const of = (wanted: number) =>
        Buffer.concat(given.filter(({ stream }) => stream === wanted).map(({ content }) => content));
      expect([read('stdout'), read('stderr')]).toEqual([of(1).toString('hex'), of(2).toString('hex')]);
    }),
  );
});

test('another stream than the engine’s is refused', () => {
  expect(() => reader().frames.read(Buffer.from('HTTP/1.1 200 OK\r\n'))).toThrow(/expected a frame/);
});
