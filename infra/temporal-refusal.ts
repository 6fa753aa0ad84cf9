/** Why Temporal cannot be reached over TLS, in words for whoever set the certificates; other troubles pass. */
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { UsageError } from '../core/faults.js';
import type { TemporalAccess } from './temporal-access.js';

/** A server that refuses a certificate of TLS 1.3 says so after the handshake. */
const AFTER_HANDSHAKE_MS = 2_000;
const HANDSHAKE_MS = 10_000;

/** What Temporal's SDK calls what no waiting mends. */
const CERTIFICATES =
  /InvalidCertificate|fatal alert|KeyMismatch|InconsistentKeys|PrivateKeyParse|CertificateParse/i;
const KEYS = /\bUnauthenticated\b|\bPermissionDenied\b|request unauthorized/i;

/** From the error of a worker's connection; undefined: it may be starting, or be down for a moment. */
export function refusedBy(address: string, error: unknown): UsageError | undefined {
  const found = error instanceof Error ? error.message : String(error);
  if (CERTIFICATES.test(found)) return refusedCertificate(address, found);
  if (!KEYS.test(found)) return undefined;
  const fix = 'Renew TEMPORAL_API_KEY, and look at the namespace and the address of its region.';
  return new UsageError(`Temporal at ${address}`, 'an API key that it accepts', found, fix);
}

export function refusedCertificate(address: string, found: string): UsageError {
  return new UsageError(
    `Temporal at ${address}`,
    'certificates that both sides accept',
    found,
    'Look at TEMPORAL_TLS_SERVER_CA_CERT_PATH, TEMPORAL_TLS_SERVER_NAME, TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, or the profile.',
  );
}

/** Shakes hands as the SDK does, which does not tell; undefined: nothing is wrong with the certificates. */
export async function tlsProblem(address: string, tls: TemporalAccess['tls']): Promise<string | undefined> {
  if (!tls) return undefined;
  const at = /^(?:.*\/\/)?\[?([^\]/]*)\]?:(\d+)$/.exec(address);
  if (!at) return undefined;
  const [, host = '', port = ''] = at;
  const { serverNameOverride, serverRootCACertificate, clientCertPair } = tls === true ? {} : tls;
  return new Promise((resolve) => {
    let socket: TLSSocket;
    const end = (problem: string | undefined): void => {
      clearTimeout(clock);
      socket?.destroy();
      resolve(problem);
    };
    let clock = setTimeout(() => end(undefined), HANDSHAKE_MS);
    try {
      socket = connectTls({
        ...{ host, port: Number(port), ALPNProtocols: ['h2'] },
        ...(serverNameOverride ? { servername: serverNameOverride } : {}),
        ...(serverRootCACertificate ? { ca: Buffer.from(serverRootCACertificate) } : {}),
        ...(clientCertPair
          ? { cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) }
          : {}),
      });
    } catch (error) {
      clearTimeout(clock);
      resolve(error instanceof Error ? error.message : String(error));
      return;
    }
    let shaken = false;
    socket.once('secureConnect', () => {
      shaken = true;
      clearTimeout(clock);
      clock = setTimeout(() => end(undefined), AFTER_HANDSHAKE_MS);
    });
    const refused = 'a server that ends the connection after the handshake: it refuses our certificate';
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // Nobody listens, or the network is away: not about certificates.
      if (!shaken && error.syscall === 'connect') end(undefined);
      else end(shaken && error.code === 'ECONNRESET' ? refused : error.message);
    });
    socket.once('close', () => end(shaken ? refused : undefined));
    socket.resume();
  });
}
