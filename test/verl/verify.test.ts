/** `verify checkpoint` of what Verl has saved: by the ledger's record, by its files alone, and everything that can be wrong. */
import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { inProcess } from '../in-process.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { withVariables } from '../variables.js';
import { JobHost } from './host.js';

vi.setConfig({ testTimeout: 300_000 });

let db: TestDatabase;
let host: JobHost;
let run = '';
let runs = 0;
let said = '';

beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());
beforeEach(async () => {
  host = await JobHost.make(db);
  run = await host.claim(`verified-${runs++}`);
  await host.keep(run).ended;
});
afterEach(() => host.end());

/** Without a ledger: that of a home in which no stack runs. */
async function command(name: string, { ledger = true } = {}): Promise<{ code: number; out: string }> {
  const [url, address] = ledger ? [db.url, '127.0.0.1:9'] : ['', ''];
  const variables = { DATABASE_URL: url, TEMPORAL_ADDRESS: address, STEADFAST_HOME: host.folder };
  const { code, out, err } = await withVariables(variables, () => inProcess('verify', 'checkpoint', name));
  said = err;
  return { code, out };
}

const place = (...parts: string[]) => path.join(host.checkpoints, ...parts);
const shard = (part: string, rank: number) =>
  place('global_step_6', 'actor', `${part}_world_size_4_rank_${rank}.pt`);

test('one that is whole, by its name and by its folder', async () => {
  const name = run.replace('train/', '');
  for (const each of [`${name}@6`, `${name}@latest`, `${run}@4`, host.checkpoints, place('global_step_6')]) {
    const { code, out } = await command(each);
    expect(out).not.toContain('✗');
    expect(out).not.toContain('digests not compared');
    expect(code).toBe(0);
  }
  const alone = await command(place('global_step_6'), { ledger: false });
  expect(alone.out).toContain('digests not compared: no ledger that was asked knows this folder');
  expect(alone.code).toBe(0);
  expect(await command(`${name}@2`)).toMatchObject({ code: 2 });
  expect(said).toMatch(/expected a checkpoint of train\/.*: 6, 4, found .*@2, pruned at/);
  expect(await command(`${name}@nine`)).toMatchObject({ code: 2 });
  expect(said).toContain('expected RUN@STEP, RUN@latest or a folder that is there');
});

test.each<[string, (place: (...parts: string[]) => string) => void, RegExp]>([
  [
    'a shard is missing',
    () => rmSync(shard('model', 1)),
    /model_world_size_4_rank_1\.pt: expected the shard/,
  ],
  [
    'one is cut off',
    () => truncateSync(shard('optim', 3), 20),
    /optim_.*rank_3\.pt: expected a whole PyTorch/,
  ],
  [
    'one is another, as long and whole',
    () => writeFileSync(shard('extra_state', 0), other(shard('extra_state', 0))),
    /extra_state_.*rank_0\.pt: expected SHA-256 [0-9a-f]{64}, found/,
  ],
  ['the place in the data is gone', (at) => rmSync(at('global_step_6', 'data.pt')), /data\.pt: expected/],
  [
    'the configuration is longer',
    (at) => appendFileSync(at('global_step_6', 'actor', 'huggingface', 'config.json'), ' '),
    /config\.json: expected 2 bytes, found 3/,
  ],
  [
    'a file came later',
    (at) => writeFileSync(at('global_step_6', 'actor', 'new.pt'), ''),
    /new\.pt: expected nothing, found a file that was not there/,
  ],
  [
    'shards of another world lie beside them',
    (at) => writeFileSync(at('global_step_6', 'actor', 'model_world_size_8_rank_0.pt'), ''),
    /expected shards of 4 processes, found some of 8/,
  ],
  [
    'the tracker names what is not there',
    (at) => writeFileSync(at('latest_checkpointed_iteration.txt'), '8'),
    /iteration\.txt: expected one of the steps that lie there \(4, 6\), found 8/,
  ],
  [
    'the tracker names an older one',
    (at) => writeFileSync(at('latest_checkpointed_iteration.txt'), '4'),
    /iteration\.txt: expected 6, the newest that is recorded, found 4/,
  ],
  [
    'the tracker is gone',
    (at) => rmSync(at('latest_checkpointed_iteration.txt')),
    /iteration\.txt: expected the newest step, 6, found no such file/,
  ],
  [
    'the tracker is no number',
    (at) => writeFileSync(at('latest_checkpointed_iteration.txt'), 'six'),
    /iteration\.txt: expected a step, found "six"/,
  ],
])('%s', async (_what, damage, words) => {
  damage(place);
  for (const named of [`${run}@6`, host.checkpoints]) {
    const { code, out } = await command(named);
    expect(out).toMatch(words);
    expect(code).toBe(1);
  }
});

test('all that is wrong is told, each file once; a folder that is gone as well', async () => {
  for (const rank of [0, 1, 2, 3]) truncateSync(shard('model', rank), 4);
  const { out } = await command(`${run}@6`);
  expect(out.match(/model_world_size_4_rank_\d\.pt: expected a whole/g)).toHaveLength(5);
  rmSync(place('global_step_4'), { recursive: true });
  const gone = await command(host.checkpoints);
  expect(gone.out).toMatch(/✗ .*global_step_4/);
  expect(gone.code).toBe(1);
});

/** Other bytes, as many, with the same end. */
function other(file: string): Buffer {
  const bytes = Buffer.from(readFileSync(file));
  bytes[0] = bytes[0]! ^ 1;
  return bytes;
}
