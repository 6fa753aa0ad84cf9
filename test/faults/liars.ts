/**
 * Deliberately broken trainers: the real one behind a proxy that breaks one promise. Each is what a real server has
 * done or could do; the conformance suite must find every one.
 */
import { createHash } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeBatchIndex } from '../../core/batch.js';
import { decodeTensors } from '../../core/safetensors.js';
import type { CheckpointManifest, TrainerState, UpdateReport } from '../../core/trainer.js';
import type { Forward, Intercept, ProxiedReply, ProxiedRequest } from './http-proxy.js';

const QUIET_MS = 150;

interface UpdateBody {
  readonly run: string;
  readonly op: string;
  readonly baseDigest: string;
  readonly batchDigest: string;
  readonly batchPath: string;
  readonly recordPaths?: Readonly<Record<string, string>>;
  readonly plan: object;
}

export interface Liar {
  readonly does: string;
  /** The check that must fail. */
  readonly foundBy: string;
  /** A fresh one: some remember. */
  readonly make: () => Intercept;
}

const UPDATE = '/trainer/update';

export const LIARS: readonly Liar[] = [
  {
    does: 'applies every update twice',
    foundBy: 'update-once',
    make: () =>
      onUpdates(async (request, body, forward) => {
        const reply = await forward(request);
        if (reply.status === 200) {
          const { weightDigest } = read<UpdateReport>(reply);
          await forward(withBody(request, { ...body, op: `${body.op} again`, baseDigest: weightDigest }));
        }
        return reply;
      }),
  },
  { does: 'forgets which operations it applied', foundBy: 'update-once', make: forgetful },
  { does: 'forgets them, and a zombie comes back', foundBy: 'zombie', make: forgetful },
  { does: 'forgets them over a restore', foundBy: 'operations-in-checkpoint', make: forgetful },
  {
    does: 'takes any base for the current weights',
    foundBy: 'stale-base',
    make: () =>
      onUpdates(async (request, body, forward) => {
        const reply = await forward(request);
        if (reply.status !== 409) return reply;
        const { weightDigest } = await stateOf(request, forward);
        return forward(withBody(request, { ...body, baseDigest: weightDigest }));
      }),
  },
  {
    does: 'answers a conflicting batch with the old report',
    foundBy: 'conflict',
    make: () => {
      const known = new Map<string, UpdateBody>();
      return onUpdates(async (request, body, forward) => {
        const first = known.get(body.run + body.op);
        const reply = await forward(first ? withBody(request, first) : request);
        if (reply.status === 200 && !first) known.set(body.run + body.op, body);
        return reply;
      });
    },
  },
  {
    does: 'does not check the digest of a batch',
    foundBy: 'bad-batch',
    make: () =>
      onUpdates(async (request, body, forward) => {
        const reply = await forward(request);
        if (reply.status !== 422) return reply;
        const batchDigest = digestOfFile(body.batchPath);
        return batchDigest === undefined ? reply : forward(withBody(request, { ...body, batchDigest }));
      }),
  },
  {
    does: 'takes other paths for another operation',
    foundBy: 'token-records',
    make: () => {
      const known = new Map<string, string>();
      return onUpdates(async (request, body, forward) => {
        const [id, paths] = [body.run + body.op, JSON.stringify(body.recordPaths)];
        if (known.has(id) && known.get(id) !== paths) {
          const refusal = { error: { code: 'conflict', message: 'other record paths' } };
          return json({ status: 409, headers: {}, body: Buffer.alloc(0) }, refusal);
        }
        const reply = await forward(request);
        if (reply.status === 200) known.set(id, paths);
        return reply;
      });
    },
  },
  {
    does: 'trains on what is there when a token record is gone',
    foundBy: 'bad-token-records',
    make: () =>
      onUpdates(async (request, body, forward) => {
        const reply = await forward(request);
        if (reply.status !== 422 || !body.recordPaths) return reply;
        return forward(withBody(request, { ...body, ...remainingBatch(body.batchPath, body.recordPaths) }));
      }),
  },
  {
    does: 'does not say whose token record is gone',
    foundBy: 'bad-token-records',
    make: () =>
      onUpdates(async (request, _body, forward) => {
        const reply = await forward(request);
        if (reply.status !== 422) return reply;
        return json(reply, { error: { code: 'bad_batch', message: 'a file cannot be read' } });
      }),
  },
  {
    does: 'loses replies, and its status knows of nothing',
    foundBy: 'lost-reply',
    make: () => async (request, forward) => {
      if (request.path.startsWith('/trainer/status')) {
        return json({ status: 200, headers: {}, body: Buffer.alloc(0) }, { state: 'unknown' });
      }
      const reply = await forward(request);
      return request.path === UPDATE ? null : reply;
    },
  },
  {
    does: 'loses every reply to an update',
    foundBy: 'update-once',
    make: () => async (request, forward) => {
      const reply = await forward(request);
      return request.path === UPDATE ? null : reply;
    },
  },
  {
    does: 'samples from old weights under the new name',
    foundBy: 'samples-are-of-their-weights',
    make: () => {
      let first: string | undefined;
      return async (request, forward) => {
        if (request.path !== '/v1/completions') return forward(request);
        const body = parse<{ model: string }>(request.body);
        first ??= body.model;
        const reply = await forward(withBody(request, { ...body, model: first }));
        return json(reply, { ...read<object>(reply), weight_version: body.model });
      };
    },
  },
  {
    does: 'samples from garbage, so that its probe differs',
    foundBy: 'probe-finds-stale',
    make: () => async (request, forward) => {
      const reply = await forward(request);
      if (request.path !== '/trainer/probe' || reply.status !== 200) return reply;
      const { trainer, sampler } = read<{ trainer: number[][]; sampler: number[][] }>(reply);
      return json(reply, { trainer, sampler: sampler.map((row) => row.map((value) => value - 0.01)) });
    },
  },
  {
    does: 'does not say which weights a reply came from',
    foundBy: 'version-echoed',
    make: () => async (request, forward) => {
      const reply = await forward(request);
      if (request.path !== '/v1/completions' || reply.status !== 200) return reply;
      const { weight_version: _version, ...rest } = read<{ weight_version: string }>(reply);
      return json(reply, rest);
    },
  },
  {
    does: 'publishes yesterday’s weights',
    foundBy: 'publish',
    make: () => {
      let first: string | undefined;
      return async (request, forward) => {
        const reply = await forward(request);
        if (request.path === '/trainer/serve') first ??= read<{ weightVersion: string }>(reply).weightVersion;
        if (request.path !== '/trainer/publish' || reply.status !== 200) return reply;
        return json(reply, { ...read<object>(reply), weightVersion: first });
      };
    },
  },
  {
    does: 'answers otherwise in a crowd',
    foundBy: 'batch-invariant-sampling',
    make: () => {
      let [running, last] = [0, 0];
      return async (request, forward) => {
        if (request.path !== '/v1/completions') return forward(request);
        const body = parse<{ seed: number }>(request.body);
        running++;
        last = Date.now();
        try {
          // A crowd is one when nobody more comes, however slowly a busy machine lets them in.
          while (Date.now() - last < QUIET_MS) await sleep(QUIET_MS / 3);
          return await forward(running > 7 ? withBody(request, { ...body, seed: body.seed + 1 }) : request);
        } finally {
          running--;
        }
      };
    },
  },
  {
    does: 'opens the base when a checkpoint is damaged',
    foundBy: 'damaged-checkpoints',
    make: () => async (request, forward) => {
      const reply = await forward(request);
      if (request.path !== '/trainer/open' || reply.status !== 422) return reply;
      return forward(withBody(request, { run: parse<{ run: string }>(request.body).run }));
    },
  },
  {
    does: 'restores weights with a cold optimizer',
    foundBy: 'optimizer-restored',
    make: () => async (request, forward) => {
      const body = parse<{ run: string; from?: string }>(request.body);
      if (request.path !== '/trainer/open' || body.from === undefined) return forward(request);
      return forward(withBody(request, { ...body, from: withColdOptimizer(body.from) }));
    },
  },
  {
    does: 'has gradients left over from a dead session',
    foundBy: 'no-leftovers',
    make: () => changedReport((report) => (report.skipped ? { ...report, gradNorm: 3.38 } : report)),
  },
  {
    does: 'takes the mean over episodes for the mean over tokens',
    foundBy: 'token-mean',
    make: () => changedReport((report) => ({ ...report, loss: report.loss / 2 })),
  },
  {
    does: 'divides by the tokens of a micro-batch',
    foundBy: 'denominator',
    make: () =>
      changedReport((report) => ({
        ...report,
        gradNorm: report.gradNorm * Math.max(1, report.tokens / 100),
      })),
  },
  {
    does: 'takes the sampler’s log-probabilities for the old policy',
    foundBy: 'old-policy',
    make: () => changedReport((report) => ({ ...report, clipFraction: report.mismatchShare })),
  },
  {
    does: 'reports a mismatch of nothing',
    foundBy: 'mismatch',
    make: () => changedReport((report) => ({ ...report, mismatchMean: 0 })),
  },
  {
    does: 'ignores the bound on the mismatch',
    foundBy: 'mismatch-bound',
    make: () =>
      onUpdates((request, body, forward) => forward(withBody(request, withoutSetting(body, 'mismatch')))),
  },
  {
    does: 'refuses a batch that is off policy when it has applied it already',
    foundBy: 'mismatch-bound',
    make: () =>
      onUpdates(async (request, body, forward) => {
        const reply = await forward(request);
        if (reply.status === 422) await forward(withBody(request, withoutSetting(body, 'mismatch')));
        return reply;
      }),
  },
  {
    does: 'ignores importance weights',
    foundBy: 'importance-weights',
    make: () =>
      onUpdates((request, body, forward) => forward(withBody(request, withoutSetting(body, 'importance')))),
  },
  {
    does: 'lets the gradient go through the importance weights',
    foundBy: 'importance-weights',
    make: () =>
      onUpdates(async (request, body, forward) => {
        const reply = await forward(request);
        if (reply.status !== 200 || !('importance' in body.plan)) return reply;
        const report = read<UpdateReport>(reply);
        return json(reply, { ...report, gradNorm: 2 * report.gradNorm });
      }),
  },
  {
    does: 'reports the KL of other weights',
    foundBy: 'kl-to-base',
    make: () => changedReport((report) => ({ ...report, klToBase: report.klToBase * 1.01 })),
  },
  {
    does: 'climbs: the advantages have the wrong sign',
    foundBy: 'direction',
    make: () => {
      // The next weights are those of an update on the same batch with its advantages negated.
      return onUpdates(async (request, body, forward) => {
        const negated = negatedBatch(body.batchPath);
        const reply = await forward(withBody(request, { ...body, ...negated }));
        if (reply.status !== 200) return reply;
        const report = read<UpdateReport>(reply);
        return json(reply, { ...report, batchDigest: body.batchDigest, loss: -report.loss });
      });
    },
  },
];

function withoutSetting(body: UpdateBody, name: string): UpdateBody {
  const plan = Object.fromEntries(Object.entries(body.plan).filter(([setting]) => setting !== name));
  return { ...body, plan };
}

function onUpdates(
  answer: (request: ProxiedRequest, body: UpdateBody, forward: Forward) => Promise<ProxiedReply | null>,
): Intercept {
  return async (request, forward) =>
    request.path === UPDATE ? answer(request, parse<UpdateBody>(request.body), forward) : forward(request);
}

function changedReport(change: (report: UpdateReport) => object): Intercept {
  return onUpdates(async (request, _body, forward) => {
    const reply = await forward(request);
    return reply.status === 200 ? json(reply, change(read<UpdateReport>(reply))) : reply;
  });
}

/** Every send is a new operation on whatever the weights are; status and state name the last one by its asked name. */
function forgetful(): Intercept {
  let sends = 0;
  return onUpdates(async (request, body, forward) => {
    const { weightDigest } = await stateOf(request, forward);
    sends++;
    const op = sends === 1 ? body.op : `${body.op} #${sends}`;
    const reply = await forward(withBody(request, { ...body, op, baseDigest: weightDigest }));
    return reply.status === 200 ? json(reply, { ...read<object>(reply), op: body.op }) : reply;
  });
}

async function stateOf(request: ProxiedRequest, forward: Forward): Promise<TrainerState> {
  return read(await forward({ ...request, method: 'GET', path: '/trainer/state', body: Buffer.alloc(0) }));
}

/** A copy of the checkpoint that verifies: same weights and operations, moments and step count of zero. */
function withColdOptimizer(from: string): string {
  const dir = path.join(`${path.dirname(from)}-cold`, path.basename(from));
  cpSync(from, dir, { recursive: true });
  const name = 'optimizer.safetensors';
  const bytes = readFileSync(path.join(dir, name));
  const start = 8 + Number(bytes.readBigUInt64LE());
  bytes.fill(0, start);
  writeFileSync(path.join(dir, name), bytes);
  const header = JSON.parse(bytes.subarray(8, start).toString()) as Record<
    string,
    { shape: number[]; data_offsets: [number, number] }
  >;
  const tensors = createHash('sha256');
  for (const tensor of Object.keys(header)
    .filter((key) => key !== '__metadata__')
    .sort()) {
    const { shape, data_offsets: range } = header[tensor]!;
    tensors.update(`${tensor}\0${JSON.stringify(shape)}\0`);
    tensors.update(bytes.subarray(start + range[0], start + range[1]));
  }
  const place = path.join(dir, 'manifest.json');
  const manifest = JSON.parse(readFileSync(place, 'utf8')) as CheckpointManifest;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const files = manifest.files.map((file) => (file.name === name ? { ...file, sha256 } : file));
  const optimizerDigest = `sha256:${tensors.digest('hex')}`;
  writeFileSync(place, JSON.stringify({ ...manifest, files, optimizerDigest }));
  return dir;
}

function negatedBatch(batchPath: string): { batchPath: string; batchDigest: string } {
  const bytes = readFileSync(batchPath);
  const start = 8 + Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.subarray(8, start).toString()) as {
    advantages: { data_offsets: [number, number] };
  };
  const [from, to] = header.advantages.data_offsets;
  for (let at = start + from; at < start + to; at += 4) bytes.writeFloatLE(-bytes.readFloatLE(at), at);
  const file = `${batchPath}.negated`;
  writeFileSync(file, bytes);
  return { batchPath: file, batchDigest: digestOfFile(file)! };
}

/** The batch without the episodes whose records are not what they are called, as an index of the others. */
function remainingBatch(batchPath: string, paths: Readonly<Record<string, string>>): Partial<UpdateBody> {
  const { tensors, metadata } = decodeTensors(readFileSync(batchPath));
  const keys = JSON.parse(metadata.keys!) as string[];
  const records = JSON.parse(metadata.records!) as string[];
  const of = (name: string, at: number) => Number(tensors.get(name)![at]);
  const episodes = keys.map((key, at) => ({
    ...{ key, record: records[at]!, advantage: of('advantages', at) },
    ...{ length: of('lengths', at), sampled: of('sampled', at) },
  }));
  const whole = episodes.filter(({ record }) => paths[record] && digestOfFile(paths[record]) === record);
  const file = `${batchPath}.remaining`;
  writeFileSync(file, encodeBatchIndex({ run: 'r', step: 1, weightVersion: 'w', episodes: whole }));
  return { batchPath: file, batchDigest: digestOfFile(file)! };
}

function digestOfFile(file: string): string | undefined {
  try {
    return `sha256:${createHash('sha256').update(readFileSync(file)).digest('hex')}`;
  } catch {
    // Not there: then even this trainer cannot read it.
    return undefined;
  }
}

function parse<T>(body: Buffer): T {
  return (body.length === 0 ? {} : JSON.parse(body.toString())) as T;
}

function read<T>(reply: ProxiedReply): T {
  return parse<T>(reply.body);
}

function withBody(request: ProxiedRequest, body: object): ProxiedRequest {
  return { ...request, body: Buffer.from(JSON.stringify(body)) };
}

function json(reply: ProxiedReply, value: object): ProxiedReply {
  const headers = { ...reply.headers, 'content-type': 'application/json' };
  return { ...reply, headers, body: Buffer.from(JSON.stringify(value)) };
}
