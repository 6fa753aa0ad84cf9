/** Batches that refer to token records: what they say, and what is said of a record that cannot be used. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Digest } from '../../../core/artifacts.js';
import type { UpdateReport } from '../../../core/trainer.js';
import type { Bench } from './bench.js';
import { type Check, hold, NotClaimed, refused, same } from './check.js';
import { type WrittenIndex, writeUnderDigest } from './material.js';
import { core } from './updates.js';

export const TOKEN_RECORD_CHECKS: readonly Check[] = [
  {
    name: 'token-records',
    promise: 'A batch that refers to token records does what the batch that holds the same tokens does.',
    async run(bench) {
      const { batches, open, writeIndex } = claimed(bench);
      const [{ episodes }] = batches;
      const whole = await (await open()).update({ op: 'one', batch: batches[0] });
      const session = await open();
      const index = await writeIndex(episodes);
      const baseDigest = await session.weights();
      const report = await session.update({ op: 'one', batch: index, baseDigest });
      same('the batch that it was applied to', report.batchDigest, index.digest);
      same('the report', figures(report), figures(whole));
      const moved = { ...index, recordPaths: await elsewhere(index) };
      same(
        'the reply when the records lie elsewhere',
        await session.update({ op: 'one', batch: moved, baseDigest }),
        report,
      );
      const { step, appliedOps } = await session.state();
      same('applied operations', [step, appliedOps], [1, ['one']]);
      return `${episodes.length} records: the report and the weights of the batch that holds the tokens; sent again with other paths, the same reply`;
    },
  },
  {
    name: 'bad-token-records',
    promise:
      'A token record that is missing, is not its digest or is malformed is refused with the name of its episode, and changes nothing.',
    async run(bench) {
      const { batches, folder, open, writeIndex } = claimed(bench);
      const episodes = batches[0].episodes.toSorted((a, b) => (a.key < b.key ? -1 : 1));
      const session = await open();
      const before = core(await session.state());
      const index = await writeIndex(episodes);
      const [record] = Object.keys(index.recordPaths);
      const { key } = episodes[0]!;
      const file = index.recordPaths[record!]!;
      const refuses = (what: string, batch: WrittenIndex) =>
        refused(what, 'bad_batch', session.update({ op: 'one', batch }), key);

      await refuses('a record without a path', { ...index, recordPaths: without(index, record!) });
      await rename(file, `${file}.away`);
      await refuses('a missing record', index);
      const bytes = await readFile(`${file}.away`);
      await writeFile(file, bytes.subarray(0, bytes.length / 2));
      await refuses('half a record', index);
      await rm(file);
      const another = { ...index.recordPaths, [record!]: Object.values(index.recordPaths)[1]! };
      await refuses('the record of another episode', { ...index, recordPaths: another });
      for (const [what, change] of MALFORMED) {
        const [first, ...others] = episodes;
        await refuses(what, await writeIndex([change(first!), ...others]));
      }
      const other = await writeUnderDigest(folder, 'longer', relabelled(await readFile(index.path)));
      await refuses('lengths that are not the record’s', {
        ...index,
        ...other,
        recordPaths: await restored(),
      });

      same('state after the refusals', core(await session.state()), before);
      const { state } = await session.status('one');
      hold(state === 'failed' || state === 'unknown', `status of a refused operation: ${state}`);
      const report = await session.update({ op: 'one', batch: index });
      same('weights once the record is back', (await session.state()).weightDigest, report.weightDigest);
      return `${5 + MALFORMED.length} bad records refused by the name of their episode; the same operation is applied when the record is back`;

      async function restored() {
        await rename(`${file}.away`, file);
        return index.recordPaths;
      }
    },
  },
];

type Episode = Bench['batches'][0]['episodes'][0];

const MALFORMED: readonly (readonly [string, (episode: Episode) => Episode])[] = [
  [
    'a log-probability that is no number',
    (episode) => ({ ...episode, logprobs: episode.logprobs.map(() => NaN) }),
  ],
  ['a token outside the vocabulary', (episode) => ({ ...episode, ids: episode.ids.map(() => 2 ** 31 - 1) })],
  ['a record without sampled tokens', (episode) => ({ ...episode, sampled: episode.sampled.map(() => 0) })],
];

/** Throws `NotClaimed` for a trainer that is never sent such a batch. */
function claimed(bench: Bench): Bench {
  if (bench.capabilities.batchFormat === 3) return bench;
  throw new NotClaimed('capabilities.batchFormats does not name 3: batches hold their tokens');
}

/** All but the digest of the batch's file and the time. */
function figures({ batchDigest: _batch, seconds: _seconds, ...rest }: UpdateReport): object {
  return rest;
}

/** The records once more, under other names. */
async function elsewhere({ recordPaths }: WrittenIndex): Promise<Record<Digest, string>> {
  const moved: Record<Digest, string> = {};
  for (const [digest, file] of Object.entries(recordPaths)) {
    moved[digest] = path.join(path.dirname(file), `copy of ${path.basename(file)}`);
    await writeFile(moved[digest]!, await readFile(file));
  }
  return moved;
}

function without({ recordPaths }: WrittenIndex, record: Digest): Record<Digest, string> {
  return Object.fromEntries(Object.entries(recordPaths).filter(([digest]) => digest !== record));
}

/** The same index with one more token in its first episode. */
function relabelled(index: Buffer): Buffer {
  const start = 8 + Number(index.readBigUInt64LE());
  const header = JSON.parse(index.subarray(8, start).toString()) as {
    lengths: { data_offsets: [number, number] };
  };
  const at = start + header.lengths.data_offsets[0];
  const changed = Buffer.from(index);
  changed.writeInt32LE(changed.readInt32LE(at) + 1, at);
  return changed;
}
