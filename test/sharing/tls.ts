/** Temporal behind TLS, as a service elsewhere has it: certificates of a moment, and a server in front of the stack's. */
import { execFile, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Certificates {
  /** Of the authority, which signed both. */
  readonly ca: string;
  readonly server: Pair;
  readonly client: Pair;
}

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Its version, where it can sign with an authority in one go; undefined: there is none. */
export function findOpenssl(): string | undefined {
  const said = spawnSync('openssl', ['version'], { encoding: 'utf8' }).stdout ?? '';
  return /^OpenSSL [3-9]\S*/.exec(said)?.[0];
}

/** Paths of new files in the folder. */
export async function certificates(folder: string): Promise<Certificates> {
  const at = (name: string) => join(folder, name);
  const openssl = (...args: readonly string[]) => run('openssl', [...args], { cwd: folder });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const authority = ['-subj', '/CN=test authority', '-addext', 'basicConstraints=critical,CA:TRUE'];
  await openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', ...authority);
  for (const name of ['server', 'client']) {
    const names = ['-addext', 'subjectAltName=DNS:temporal.test'];
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-addext', 'basicConstraints=CA:FALSE'];
    const out = ['-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`];
    await openssl('req', '-x509', ...key, ...out, ...signed, ...names);
  }
  const pair = (name: string): Pair => ({ cert: at(`${name}.pem`), key: at(`${name}.key`) });
  return { ca: at('ca.pem'), server: pair('server'), client: pair('client') };
}

/** Takes only clients with a certificate of the authority, and hands their bytes on. */
export async function tlsInFront(
  address: string,
  { ca, server }: Certificates,
): Promise<{ readonly address: string; readonly clients: () => number; readonly stop: () => void }> {
  const [host = '', port = ''] = address.split(':');
  let clients = 0;
  const open = new Set<{ destroy(): void }>();
  const front = createServer(
    {
      cert: await readFile(server.cert),
      key: await readFile(server.key),
      ca: await readFile(ca),
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ['h2'],
    },
    (client) => {
      clients++;
      const behind = connect(Number(port), host);
      client.pipe(behind).pipe(client);
      for (const [side, other] of [
        [client, behind],
        [behind, client],
      ] as const) {
        open.add(side);
        side.on('error', () => other.destroy()).on('close', () => open.delete(side));
      }
    },
  );
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(front.address() as AddressInfo).port}`,
    clients: () => clients,
    stop() {
      front.close();
      for (const side of open) side.destroy();
    },
  };
}
