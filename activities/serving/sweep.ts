/**
 * Servers of this host that nobody keeps: their serving has ended or moved to another host, or their keeper was not heard
 * of for too long. One that is still wanted here stays for the next keeper, which takes it over.
 */
import { ACTIVE } from '../../core/serving/servings.js';
import type { KeeperDeps } from './deps.js';
import { endServer } from './process.js';

/** Returns the ids of those that it has ended. `starting`: no keeper can have been here, and one may come now. */
export async function sweepServers(
  { servings, host, times }: Pick<KeeperDeps, 'servings' | 'host' | 'times'>,
  { starting = false } = {},
): Promise<readonly string[]> {
  const reaped: string[] = [];
  for (const row of await servings.openServers(host)) {
    const serving = await servings.serving(row.serving);
    const wanted = serving !== undefined && ACTIVE.includes(serving.state) && serving.host === host;
    if (wanted && starting) {
      await servings.serverKept(row.id, new Date(Date.now() + times.keptMs));
      continue;
    }
    if (wanted && new Date(row.expiresAt) > new Date()) continue;
    await endServer(servings, row, { graceMs: times.graceMs, how: 'reaped' });
    reaped.push(row.id);
  }
  return reaped;
}
