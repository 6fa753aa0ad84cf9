/** Certificates that one side does not accept: said at once, and why. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refusedBy, tlsProblem } from '../../infra/temporal-refusal.js';
import { type Certificates, certificates, findOpenssl, tlsInFront } from '../sharing/tls.js';

describe.skipIf(findOpenssl() === undefined)('over TLS', () => {
  const folders = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'steadfast tls ')));
  let [own, other]: Certificates[] = [];
  let front: Awaited<ReturnType<typeof tlsInFront>>;
  beforeAll(async () => {
    [own, other] = await Promise.all(folders.map((folder) => certificates(folder)));
    front = await tlsInFront('127.0.0.1:9', own!);
  });
  afterAll(() => {
    front?.stop();
    for (const folder of folders) rmSync(folder, { recursive: true });
  });
  const access = (ca: Certificates, client: Certificates, serverNameOverride = 'temporal.test') => ({
    serverNameOverride,
    serverRootCACertificate: readFileSync(ca.ca),
    clientCertPair: { crt: readFileSync(client.client.cert), key: readFileSync(client.client.key) },
  });

  test('each side’s certificate, and the name', async () => {
    const problem = (tls: Parameters<typeof tlsProblem>[1]) => tlsProblem(front.address, tls);
    expect(await problem(access(own!, other!))).toMatch(/refuses our certificate|alert/);
    expect(await problem(access(other!, own!))).toMatch(/certificate/);
    expect(await problem(access(own!, own!, 'elsewhere.test'))).toMatch(/elsewhere\.test/);
    const mixed = { crt: readFileSync(own!.client.cert), key: readFileSync(other!.client.key) };
    expect(await problem({ ...access(own!, own!), clientCertPair: mixed })).toMatch(/mismatch/);
  });
});

test('what is no refusal is waited for', async () => {
  expect(await tlsProblem('127.0.0.1:1', true)).toBeUndefined();
  expect(await tlsProblem('127.0.0.1:1', undefined)).toBeUndefined();
  expect(refusedBy('x:7233', new Error('tcp connect error: Connection refused'))).toBeUndefined();
  expect(refusedBy('x:7233', new Error('InvalidCertificate(UnknownIssuer)'))?.message).toMatch(
    /^Temporal at x:7233: expected certificates that both sides accept, found InvalidCertificate/,
  );
  expect(refusedBy('x:7233', new Error('status: PermissionDenied'))?.message).toMatch(/TEMPORAL_API_KEY/);
});
