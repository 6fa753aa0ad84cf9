/** Every check of a run, in the order in which they are told. */
import { type NamedResult, unless } from '../../core/preflight.js';
import { type Asked, type Check, type ClusterAsked, verlOf } from './asked.js';
import { clocks } from './checks/clocks.js';
import { disk } from './checks/disk.js';
import { estimate } from './checks/estimate.js';
import { existing } from './checks/existing.js';
import { gpus } from './checks/gpus.js';
import { hosts } from './checks/hosts.js';
import { inputs } from './checks/inputs.js';
import { known, providers, support } from './checks/known.js';
import { layout } from './checks/layout.js';
import { model } from './checks/model.js';
import { overrides } from './checks/overrides.js';
import { people } from './checks/people.js';
import { pool } from './checks/pool.js';
import { proxies } from './checks/proxies.js';
import { secrets } from './checks/secrets.js';
import { sharedFolder } from './checks/shared-folder.js';
import { silence } from './checks/silence.js';
import { stack } from './checks/stack.js';
import { tools } from './checks/tools.js';
import { torchModel } from './checks/torch-model.js';
import { typesense } from './checks/typesense.js';
import { versions } from './checks/versions.js';

const FIRST: readonly Check[] = [stack, known, providers, pool];
const CLUSTER: readonly Check<ClusterAsked>[] = [
  ...[layout, overrides, hosts, gpus, versions, model, inputs],
  ...[sharedFolder, disk, existing, clocks, silence],
];
const TORCH: readonly Check[] = [torchModel];
const BESIDE: readonly Check[] = [support];
const LAST: readonly Check[] = [secrets, proxies, people, tools, typesense, estimate];

/** All that concern the run; one that cannot be carried out is a problem, too, and the others go on. */
export async function preflight(asked: Asked): Promise<readonly NamedResult[]> {
  const trainer = verlOf(asked);
  const results = [
    ...FIRST.map((check) => carriedOut(check, asked)),
    ...(trainer ? CLUSTER.map((check) => carriedOut(check, { ...asked, trainer })) : []),
    ...(asked.config.trainer?.kind === 'torch' ? TORCH : []).map((check) => carriedOut(check, asked)),
    ...(trainer ? [] : BESIDE).map((check) => carriedOut(check, asked)),
    ...LAST.map((check) => carriedOut(check, asked)),
  ];
  return Promise.all(results);
}

async function carriedOut<A extends Asked>(check: Check<A>, asked: A): Promise<NamedResult> {
  const { name } = check;
  try {
    return { name, result: await check.run(asked) };
  } catch (error) {
    // Whatever it was, the other checks are worth hearing.
    const fix = 'Repair what it needs, and run the dry run again.';
    const found = (error instanceof Error ? error.message : String(error)).split('\n')[0]!;
    return { name, result: unless([{ place: name, expected: 'to be checked', found, fix }], '') };
  }
}
