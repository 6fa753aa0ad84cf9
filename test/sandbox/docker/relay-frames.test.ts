/** What a relay and its worker say to each other: frames cut anywhere, and anything that is none. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  frame,
  KINDS,
  type Kind,
  MAX_FRAME_BYTES,
  RelayFrames,
} from '../../../activities/sandbox/docker/relay/frames.js';

test('any frames, cut anywhere, arrive whole and in order', () => {
  const frames = fc.array(
    fc.record({
      kind: fc.constantFrom<Kind>(...Object.values(KINDS)),
      connection: fc.nat(2 ** 31),
      content: fc.uint8Array({ maxLength: 60 }),
    }),
  );
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 25 })), (given, cuts) => {
      const heard: unknown[] = [];
      const reader = new RelayFrames((kind, connection, content) =>
        heard.push({ kind, connection, content: content.toString('hex') }),
      );
      let rest = Buffer.concat(given.map((one) => frame(one.kind, one.connection, one.content)));
      for (const cut of cuts) {
        reader.read(rest.subarray(0, cut));
        rest = rest.subarray(cut);
      }
      reader.read(rest);
      expect(heard).toEqual(
        given.map((one) => ({ ...one, content: Buffer.from(one.content).toString('hex') })),
      );
    }),
  );
});

test.each([
  ['an unknown kind', Buffer.from('ff0000000100000000', 'hex')],
  ['more than a frame may hold', frame(KINDS.data, 1, Buffer.alloc(MAX_FRAME_BYTES + 1))],
])('%s is refused, and nothing of it is kept', (_what, bytes) => {
  const reader = new RelayFrames(() => expect.unreachable());
  expect(() => reader.read(bytes)).toThrow(/expected a frame of the relay/);
});
