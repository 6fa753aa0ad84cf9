/**
 * Proxy addresses: one in both spellings, since half of all programs read the upper-case one and half the lower-case
 * one; and none between the hosts of the cluster, which talk to each other.
 */

import { proxiesOf } from '../../../activities/host/proxies.js';
import type { Finding } from '../../../core/cluster.js';
import { unless } from '../../../core/preflight.js';
import { type Check, verlOf } from '../asked.js';

type Proxies = Readonly<Record<string, string>>;

export const proxies: Check = {
  name: 'proxies',
  run(asked) {
    const names = verlOf(asked)?.hosts.map(({ name }) => name) ?? [];
    const places: [string, Proxies][] = [
      ['here', proxiesOf(asked.env)],
      ...[...(asked.cluster?.facts ?? [])].map(([host, facts]): [string, Proxies] => [
        `on ${host}`,
        facts.proxies,
      ]),
    ];
    const problems = places.flatMap(([where, of]) => proxyProblems(where, of, names));
    const used = places.filter(([, of]) => Object.keys(of).length > 0).map(([where]) => where);
    return unless(problems, used.length === 0 ? 'none' : `the same in both spellings ${used.join(', ')}`);
  },
};

/** Pure. */
export function proxyProblems(where: string, proxies: Proxies, hosts: readonly string[]): readonly Finding[] {
  const problems: Finding[] = [];
  for (const lower of ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy']) {
    const upper = lower.toUpperCase();
    if (proxies[lower] === undefined || proxies[upper] === undefined || proxies[lower] === proxies[upper])
      continue;
    problems.push({
      place: `${upper} ${where}`,
      expected: `the same as ${lower}, ${proxies[lower]}`,
      found: proxies[upper]!,
      fix: 'Set both to one address, or unset one of them: programs differ in which they read.',
    });
  }
  const proxied = Object.keys(proxies).some((name) => !/^no_proxy$/i.test(name));
  const direct = (proxies.no_proxy ?? proxies.NO_PROXY ?? '').split(/[\s,]+/).filter(Boolean);
  const through = hosts.filter((host) => !direct.some((entry) => covers(entry, host)));
  if (proxied && through.length > 0) {
    problems.push({
      place: `NO_PROXY ${where}`,
      expected: 'the hosts of the cluster, which talk to each other',
      found: `none for ${through.join(', ')}`,
      fix: `Add them: NO_PROXY=${[...direct, ...through].join(',')}`,
    });
  }
  return problems;
}

/** `*`, the host itself, or a domain that it is in. */
function covers(entry: string, host: string): boolean {
  const domain = entry.replace(/^\*?\./, '').replace(/:\d+$/, '');
  return entry === '*' || host === domain || host.endsWith(`.${domain}`);
}
