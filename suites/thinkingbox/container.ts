/** How a server of a case runs in a container: the same program and environment, at the places that the image has. */
import { isIP } from 'node:net';
import type { Endpoint, ServerSpec } from '../../core/sandbox.js';
import { type Checkouts, insideImage, serverEnvironment } from './image.js';
import type { CaseServer } from './protocol.js';

/** As reserved.py takes it where an address names none. */
const SEARCH_PORT = 8108;
/** Name of a search service that has none of its own. */
const SEARCH = 'search';

export interface ContainerForm {
  readonly image: string;
  readonly checkouts: Checkouts;
  readonly env: Readonly<Record<string, string>>;
  readonly endpoints: readonly Endpoint[];
}

export async function containerForm(suite: {
  readonly image: string;
  readonly checkouts: Checkouts;
  readonly search?: { readonly url: string; readonly key: string } | undefined;
}): Promise<ContainerForm> {
  const { image, checkouts, search } = suite;
  const env = await serverEnvironment(checkouts.dataDir);
  if (!search) return { image, checkouts, env, endpoints: [] };
  const { protocol, hostname, port: given } = new URL(search.url);
  const port = Number(given) || SEARCH_PORT;
  const bare = hostname.replace(/^\[|\]$/g, '');
  const name = isIP(bare) !== 0 || bare === 'localhost' ? SEARCH : hostname;
  return {
    image,
    checkouts,
    env: { ...env, STEADFAST_TYPESENSE_URL: `${protocol}//${name}:${port}`, TYPESENSE_API_KEY: search.key },
    endpoints: [{ name, port, address: `${hostname}:${port}` }],
  };
}

/** Undefined for what only this machine can run: another program than Python, files that are not in the image. */
export function contained(
  { command, warm, env: own, cwd }: CaseServer,
  { image, checkouts, env, endpoints }: ContainerForm,
): ServerSpec['container'] {
  const program = command[2];
  if (warm === null || cwd !== null || program === undefined) return undefined;
  const inside = program.includes('/') ? insideImage(program, checkouts) : program;
  if (inside === undefined) return undefined;
  return { image, args: [inside], env: { ...own, ...env }, endpoints };
}
