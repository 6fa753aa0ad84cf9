/**
 * A driver for sandboxes that no try owns, such as those of replays: each is in the ledger before it is made, and carries
 * on itself who made it and until when it may be there. What is left when this process is killed, sweeps end.
 */
import type { Ledger } from '../core/ledger.js';
import type { SandboxDriver } from '../core/sandbox.js';

/** Longer than any replay; the death of its process is noticed before. */
const EXPIRES_MS = 60 * 60_000;

export interface WrittenDownOptions {
  readonly ledger: Pick<Ledger, 'sandboxesAhead' | 'sandboxCreated' | 'sandboxEnded'>;
  readonly host: string;
}

export function writtenDown(driver: SandboxDriver, { ledger, host }: WrittenDownOptions): SandboxDriver {
  const { isolation } = driver;
  const worker = `${host}:${process.pid}`;
  return {
    isolation,
    async create(request) {
      const { name } = request;
      const expiresAt = new Date(Date.now() + EXPIRES_MS).toISOString();
      await ledger.sandboxesAhead(worker, [{ name, isolation, host, expiresAt }]);
      try {
        const sandbox = await driver.create({
          ...request,
          expiresAt,
          labels: { ...request.labels, worker },
        });
        await ledger.sandboxCreated(name);
        const release = async (): Promise<void> => {
          await sandbox.release();
          await ledger.sandboxEnded(name, 'released');
        };
        return { ...sandbox, release };
      } catch (error) {
        // Where this fails too it stays open in the ledger, and sweeps end it.
        await driver
          .reap(name)
          .then(() => ledger.sandboxEnded(name, 'released'))
          .catch(() => undefined);
        throw error;
      }
    },
    reap: (name) => driver.reap(name),
    living: () => driver.living(),
  };
}
