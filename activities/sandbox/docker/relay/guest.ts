/**
 * The relay's side in the container, for images with Node.js: bundled into them, started beside the server by the
 * engine. Arguments are the addresses to listen on, `127.77.0.1:8108`, one an endpoint. It knows nothing of where a
 * connection leads: it hands it to the worker over its standard streams, and ends with them.
 */
import { createServer } from 'node:net';
import { Connections } from './connections.js';
import { frame, KINDS, RelayFrames } from './frames.js';

const connections = new Connections(process.stdout);
const frames = new RelayFrames((kind, connection, content) => connections.take(kind, connection, content));
let opened = 0;

const listening = process.argv.slice(2).map((address, endpoint) => {
  const at = address.lastIndexOf(':');
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    opened += 1;
    process.stdout.write(frame(KINDS.open, opened, Uint8Array.of(endpoint)));
    connections.add(opened, socket);
  });
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(address.slice(at + 1)), address.slice(0, at), resolve);
  });
});
process.stdin.on('data', (chunk: Buffer) => frames.read(chunk));
process.stdin.on('end', () => process.exit(0));
await Promise.all(listening);
process.stdout.write(frame(KINDS.ready, 0));
