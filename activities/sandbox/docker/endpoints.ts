/**
 * What a container may reach: nothing, or endpoints that its suite names and the operator has approved
 * (`STEADFAST_ENDPOINTS`). A container has no network for it: relay/ carries its connections to the worker, which
 * makes them, so that no other address is within reach, whatever a guest tries.
 */
import { BlockList, isIP } from 'node:net';
import { Fault, UsageError } from '../../../core/faults.js';
import type { Endpoint } from '../../../core/sandbox.js';

/** Where clouds have their metadata services, and nothing that tools should read. */
const METADATA = new BlockList();
METADATA.addSubnet('169.254.0.0', 16, 'ipv4');
METADATA.addSubnet('fe80::', 10, 'ipv6');
METADATA.addAddress('fd00:ec2::254', 'ipv6');

/** Of an address, not a name: link-local, or a metadata service. IPv4 written as IPv6 is known too. */
export function isMetadata(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && METADATA.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

const PLACE = 'STEADFAST_ENDPOINTS';
const NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** `host:port` or `[IPv6]:port`, in lower case; undefined for anything else. */
export function addressOf(text: string): Address | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = (bracketed ?? plain ?? '').toLowerCase();
  const port = Number(digits);
  const good = bracketed === undefined ? isIP(host) === 4 || NAME.test(host) : isIP(host) === 6;
  return good && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** Reads `STEADFAST_ENDPOINTS`, a list with commas. Throws `UsageError` for an entry that is none. */
export function approvedEndpoints(text: string | undefined): readonly string[] {
  const entries = (text ?? '').split(',').map((entry) => entry.trim());
  return entries
    .filter((entry) => entry !== '')
    .map((entry) => {
      const address = addressOf(entry);
      if (!address) {
        throw new UsageError(PLACE, 'host:port, several with commas, no patterns', `"${entry}"`);
      }
      if (isMetadata(address.host)) {
        throw new UsageError(PLACE, 'addresses that are no metadata service', `"${entry}"`);
      }
      return entry.toLowerCase();
    });
}

/** Throws `UsageError` for what a suite needs and the operator has not approved. */
export function requireApproved(wanted: readonly string[], approved: readonly string[]): void {
  const missing = wanted.filter((address) => !approved.includes(address.toLowerCase()));
  if (missing.length === 0) return;
  const all = [...new Set([...approved, ...missing])].join(',');
  const found = approved.length === 0 ? 'none' : approved.join(', ');
  throw new UsageError(
    PLACE,
    `${missing.join(' and ')}, which containers of the suite must reach`,
    found,
    `Approve it where the workers are started, if you mean it: ${PLACE}=${all}`,
  );
}

/** Of one container, for its driver. Throws `Fault('sandbox', 'endpoint_refused')`. */
export function requireApprovedEndpoints(
  server: string,
  wanted: readonly Endpoint[],
  approved: readonly string[],
): void {
  try {
    requireApproved(
      wanted.map(({ address }) => address),
      approved,
    );
  } catch (error) {
    const message = `server "${server}": ${(error as Error).message}`;
    throw new Fault('sandbox', message, { cause: error, code: 'endpoint_refused', retry: false });
  }
}

/** Most names of one container: each is a loopback address of its own. */
const MAX_NAMES = 100;

/** Where an endpoint is inside its container: its name has an address of the loopback interface for itself. */
export function insideAddress({ name }: Endpoint, endpoints: readonly Endpoint[]): string {
  return `127.77.0.${namesOf(endpoints).indexOf(name) + 1}`;
}

/** Lines for the hosts file: names are known to the container without any name service. */
export function hostsOf(endpoints: readonly Endpoint[]): readonly string[] {
  return namesOf(endpoints).map((name) => {
    const [first] = endpoints.filter((endpoint) => endpoint.name === name);
    return `${name}:${insideAddress(first!, endpoints)}`;
  });
}

function namesOf(endpoints: readonly Endpoint[]): readonly string[] {
  return [...new Set(endpoints.map(({ name }) => name))].slice(0, MAX_NAMES);
}
