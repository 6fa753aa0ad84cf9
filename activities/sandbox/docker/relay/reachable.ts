/** Whether an endpoint answers at all, asked before a campaign begins. */
import { Socket } from 'node:net';
import { UsageError } from '../../../../core/faults.js';
import { connected } from './host.js';

/** Throws `UsageError`. */
export async function requireReachable(address: string): Promise<void> {
  const socket = new Socket();
  socket.on('error', () => undefined);
  try {
    await connected(socket, address);
  } catch (error) {
    throw new UsageError(`endpoint ${address}`, 'a service that takes connections', (error as Error).message);
  } finally {
    socket.destroy();
  }
}
