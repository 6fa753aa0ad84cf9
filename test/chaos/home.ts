/** The home of a stack that is there for one experiment. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeAtomic } from '../../infra/setup/files.mjs';
import { freePort } from '../../infra/stack/free-port.js';
import { USUAL_PORTS } from '../../infra/stack/ports.js';
import { stopStack } from '../../infra/stack/stop.js';
import type { SmallDisk } from './disk.js';

/** With ports of its own: a usual one would be somebody else's on a shared machine as soon as our server is killed. */
export async function newHome(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'steadfast-chaos-'));
  const ports: Record<string, number> = {};
  for (const name of Object.keys(USUAL_PORTS)) {
    ports[name] = await freePort(Object.values(ports));
  }
  writeAtomic(join(home, 'ports.json'), JSON.stringify(ports));
  return home;
}

export async function discard(home: string, disk?: SmallDisk): Promise<void> {
  await stopStack({ home });
  disk?.unmount();
  rmSync(home, { recursive: true, force: true });
}
