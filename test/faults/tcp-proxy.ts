/**
 * The fault-injection proxy for any protocol over TCP: PostgreSQL, gRPC. It knows connections and chunks, no messages.
 * Faults are asked for at run time; what a chunk meets is drawn from the seed.
 */
import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import { type RandomStream, randomStream } from '../../core/random.js';

export interface TcpFaults {
  /** Every chunk waits so long, both ways, ms. */
  readonly delayMs?: number;
  /** Share of chunks after which the connection is reset; half of the chunk is sent before. */
  readonly cutShare?: number;
  /** Nothing passes, nothing is refused: as if the network were gone. Bytes wait until it comes back. */
  readonly stalled?: boolean;
  /** New connections are reset. */
  readonly refusing?: boolean;
}

export interface TcpProxy {
  readonly port: number;
  readonly open: number;
  /** In force from the next chunk on; what is left out is off. */
  set(faults: TcpFaults): void;
  /** Resets every connection that is open. */
  reset(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(
  target: { readonly host: string; readonly port: number },
  seed = 1,
): Promise<TcpProxy> {
  const random = randomStream('tcp faults', seed);
  const pairs = new Set<readonly [net.Socket, net.Socket]>();
  let faults: TcpFaults = {};
  const changes = new EventEmitter().setMaxListeners(0);

  const server = net.createServer((client) => {
    if (faults.refusing) {
      client.resetAndDestroy();
      return;
    }
    const upstream = net.connect(target.port, target.host);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.resetAndDestroy();
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    void pump(client, upstream, end);
    void pump(upstream, client, end);
  });

  async function pump(from: net.Socket, to: net.Socket, end: () => void): Promise<void> {
    try {
      for await (const chunk of from) {
        while (faults.stalled) await once(changes, 'set');
        if (faults.delayMs) await new Promise((resolve) => setTimeout(resolve, faults.delayMs));
        if (drawn(random, faults.cutShare)) {
          to.write((chunk as Buffer).subarray(0, (chunk as Buffer).length / 2), end);
          return;
        }
        if (!to.write(chunk as Buffer)) await once(to, 'drain');
      }
      to.end();
    } catch {
      // One side broke: the other learns of it by a reset.
      end();
    }
  }

  const set = (next: TcpFaults): void => {
    faults = next;
    changes.emit('set');
  };
  const reset = (): void => {
    for (const pair of pairs) for (const socket of pair) socket.resetAndDestroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as net.AddressInfo).port,
    get open() {
      return pairs.size;
    },
    set,
    reset,
    async close() {
      set({});
      const closed = once(server, 'close');
      server.close();
      reset();
      await closed;
    },
  };
}

function drawn(random: RandomStream, share = 0): boolean {
  return share > 0 && random.uint32() < share * 2 ** 32;
}
