/** A trainer of somebody else's in place of the stack's own: what is refused, and a real stack beside one. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startPrivateTrainer } from '../../infra/stack/private-trainer.js';
import { startStack } from '../../infra/stack/start.js';
import { stopStack } from '../../infra/stack/stop.js';
import { servicesHere, trainerElsewhere } from '../../infra/stack/trainer-elsewhere.js';
import { type RunningTrainer, startTrainer } from '../trainer/server.js';
import { withVariables } from '../variables.js';
import { discard, temporaryHome } from './harness.js';

let trainer: RunningTrainer;
const home = temporaryHome();
beforeAll(async () => {
  trainer = await startTrainer();
});
afterAll(async () => {
  await discard(home);
  await trainer?.end('SIGTERM');
});

it.each<[Record<string, string>, RegExp]>([
  [{ STEADFAST_TRAINER_URL: 'trainer:8600' }, /STEADFAST_TRAINER_URL: expected http.*found "trainer:8600"/],
  [{ STEADFAST_TRAINER_URL: 'http://trainer:8600/v1' }, /expected http:\/\/host:port, without \/v1/],
  [
    { STEADFAST_TRAINER_URL: 'http://trainer:8600', STEADFAST_TRAINER: 'torch' },
    /STEADFAST_TRAINER: expected nothing beside STEADFAST_TRAINER_URL, found "torch"/,
  ],
])('%j is refused', (variables, words) => {
  expect(() => trainerElsewhere(variables)).toThrow(words);
});

it('takes only the trainer away', () => {
  const all = ['temporal', 'postgres', 'trainer', 'endpoints'] as const;
  expect(servicesHere(all, { STEADFAST_TRAINER_URL: '' })).toEqual(all);
  const variables = { STEADFAST_TRAINER_URL: 'http://trainer:8600' };
  expect(servicesHere(all, variables)).toEqual(['temporal', 'postgres', 'endpoints']);
});

it('a stack beside one starts none, gives its workers the address, and leaves it when it ends', async () => {
  const info = await withVariables({ STEADFAST_TRAINER_URL: trainer.url }, () => startStack({ home }));
  expect(info.trainerUrl).toBe(trainer.url);
  const names = info.processes.map(({ name }) => name);
  expect(names).toEqual([
    'temporal',
    'postgres',
    'endpoints',
    'worker-pipeline',
    'worker-sandbox',
    'worker-gpu',
  ]);
  for (const name of ['worker-sandbox', 'worker-gpu']) {
    const { pid } = info.processes.find((process) => process.name === name)!;
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    expect(environment).toContain(`STEADFAST_TRAINER_URL=${trainer.url}`);
  }
  // Until `down`: a second terminal need not say it again, and a replay never takes the run's own trainer.
  expect((await startStack({ home })).trainerUrl).toBe(trainer.url);
  await expect(startPrivateTrainer(home)).rejects.toThrow(/--trainer: expected an idle trainer/);
  await stopStack({ home });
  expect((await fetch(`${trainer.url}/health`)).ok).toBe(true);
});
