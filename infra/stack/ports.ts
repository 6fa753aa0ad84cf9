/**
 * Ports of the stack: the usual one, or a free one when it is taken; kept in `ports.json`, so that clients find a
 * restarted stack where it was.
 */
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { readJson, writeAtomic } from '../setup/files.mjs';
import { freePort } from './free-port.js';
import { claimPort } from './port-claims.js';

export const USUAL_PORTS = {
  temporal: 7233,
  /** Temporal's HTTP API, used for health checks. */
  temporalHttp: 7243,
  temporalUi: 8233,
  postgres: 7432,
  trainer: 7470,
  endpoints: 7480,
} as const;

export type PortName = keyof typeof USUAL_PORTS;
/** Changed in place when a port turns out to be taken. */
export type Ports = Record<PortName, number>;

const portsFile = (home: string): string => join(home, 'ports.json');

/**
 * Chooses every port: the last or usual one, unless it is taken. `held` are ports that our own running processes
 * listen on: those stay.
 */
export async function choosePorts(home: string, held: ReadonlySet<PortName>): Promise<Ports> {
  const last: Partial<Ports> = readJson(portsFile(home)) ?? {};
  const ports: Ports = { ...USUAL_PORTS, ...last };
  for (const name of Object.keys(USUAL_PORTS) as PortName[]) {
    if (!held.has(name)) await rechoose(home, ports, name);
  }
  writeAtomic(portsFile(home), JSON.stringify(ports));
  return ports;
}

/** Another port in place of one that is taken, or that two names have; true when it was. */
export async function rechoose(home: string, ports: Ports, name: PortName): Promise<boolean> {
  const others = new Set(Object.entries(ports).flatMap(([other, port]) => (other === name ? [] : [port])));
  if (!others.has(ports[name]) && (await isFree(ports[name])) && claimPort(home, ports[name])) return false;
  do {
    ports[name] = await freePort(others);
    others.add(ports[name]);
  } while (!claimPort(home, ports[name]));
  writeAtomic(portsFile(home), JSON.stringify(ports));
  return true;
}

/** True when nobody listens on the port of 127.0.0.1, on that address or on all. */
export async function isFree(port: number): Promise<boolean> {
  return (await canListen(port)) && !(await answers(port));
}

function canListen(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', () => done(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => done(true)));
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const end = (answer: boolean): void => {
      socket.destroy();
      done(answer);
    };
    socket.setTimeout(500, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
