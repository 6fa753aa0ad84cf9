/** Replies get lost and senders die: what was done is found, and what comes too late changes nothing. */
import { Fault } from '../../../core/faults.js';
import { Session } from './bench.js';
import { type Check, hold, refused, same } from './check.js';
import { core } from './updates.js';

export const REPLY_CHECKS: readonly Check[] = [
  {
    name: 'lost-reply',
    promise: 'An update whose caller went away is finished, found by `status`, and not applied again.',
    async run({ batches: [batch], another, open, signal, waitMs }) {
      const session = await open();
      const baseDigest = await session.weights();
      const gone = new AbortController();
      const lost = session.update({ op: 'one', batch, baseDigest }, gone.signal);
      // Settled below; a rejection meanwhile must not count as unhandled.
      lost.catch(() => undefined);
      const other = new Session(another, session.run, signal, waitMs);
      await other.statusWhen('one', ['running', 'done']);
      gone.abort(new Error('the caller went away'));
      await Promise.allSettled([lost]);
      const status = await other.statusWhen('one', ['done']);
      const report = status.state === 'done' ? status.report : undefined;
      same('the report of a second send', await other.update({ op: 'one', batch, baseDigest }), report);
      same('applied operations', (await other.state()).appliedOps, ['one']);
      same('weights in force', (await other.state()).weightDigest, report?.weightDigest);
      return 'the caller left while the update ran; status found it done, and a second send got the same report';
    },
  },
  {
    name: 're-attach',
    promise: 'A worker that knows only the operation id learns whether it is unknown, running or done.',
    async run({ batches: [batch], another, open, signal, waitMs }) {
      const session = await open();
      const other = new Session(another, session.run, signal, waitMs);
      same('status before', (await other.status('one')).state, 'unknown');
      const sent = session.update({ op: 'one', batch });
      const seen = new Set<string>();
      let status = await other.status('one');
      for (; status.state !== 'done'; status = await other.status('one')) {
        seen.add(status.state);
        hold(status.state !== 'failed', `status while it runs: ${JSON.stringify(status)}`);
        await Promise.race([sent, new Promise((resolve) => setTimeout(resolve, 5))]);
      }
      same('the report by status', status.report, await sent);
      same('status of another run', await another.status('conformance/none', 'one', signal), {
        state: 'unknown',
      });
      return `a second client saw ${[...seen, 'done'].join(', ')}, and the report that the sender got`;
    },
  },
  {
    name: 'zombie',
    promise:
      'A late send of an old operation changes nothing, in its own session and after another was opened.',
    async run({ batches: [first, second, third], open, signal }) {
      const session = await open();
      const baseDigest = await session.weights();
      const old = { op: 'one', batch: first, baseDigest };
      const report = await session.update(old);
      await session.update({ op: 'two', batch: second });
      const after = core(await session.state());
      same('the late reply', await session.update(old), report);
      await refused('a late new operation', 'stale_base', session.update({ ...old, op: 'late' }));
      same('state after late sends', core(await session.state()), after);

      const next = await open();
      const opened = core(await next.state());
      await refused('a send to a closed session', 'not_open', session.update({ ...old, batch: third }));
      await refused(
        'a publish of a closed session',
        'not_open',
        session.trainer.publish(session.run, signal),
      );
      same('state of the next session', core(await next.state()), opened);
      return 'late sends got the old report, stale_base or not_open; no digest moved';
    },
  },
  {
    name: 'readable-refusals',
    promise: 'Every refusal has a code and a message, and the trainer answers afterwards.',
    async run({ batches: [batch], open, signal, base }) {
      const session = await open();
      const { trainer, run } = session;
      const calls: Readonly<Record<string, () => Promise<unknown>>> = {
        'a plan with NaN': () => session.update({ op: 'one', batch, plan: { learningRate: Number.NaN } }),
        'a probe of one token': () => trainer.probe(base.weightVersion, [[1]], signal),
        'a checkpoint that is not there': () => trainer.open(run, '/no/such/checkpoint', signal),
      };
      for (const [what, call] of Object.entries(calls)) {
        const error: unknown = await call().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        hold(
          error instanceof Fault && error.code !== undefined && error.code !== 'unreachable',
          `${what}: expected a refusal with a code, found ${String(error)}`,
        );
      }
      same('applied operations', (await session.state()).appliedOps, []);
      return 'three nonsensical calls refused with a code; the session is as it was';
    },
  },
];
