/**
 * Temporal's development server with its database on disk. It survives `kill -9`: the write-ahead log of SQLite holds
 * what the process had written, and with `synchronous=normal` commits cost no wait for the disk.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NAMESPACE, RETENTION_DAYS } from '../../temporal.config.js';
import { sha256 } from '../setup/files.mjs';
import { logFile } from './info.js';
import type { Ports } from './ports.js';
import { type Command, getText, launch, type Service } from './service.js';

export interface TemporalOptions {
  readonly executable: string;
  readonly home: string;
  readonly ports: Ports;
  readonly mark: Readonly<Record<string, string>>;
}

/** Search attributes that workflows set, by their type in Temporal's words. */
export const SEARCH_ATTRIBUTES: Readonly<Record<string, string>> = {};

const run = promisify(execFile);

export function temporalService({ executable, home, ports, mark }: TemporalOptions): Service {
  const log = logFile(home, 'temporal');
  const api = (path: string): string =>
    `http://127.0.0.1:${ports.temporalHttp}/api/v1/namespaces/${NAMESPACE}${path}`;
  const command = (): Command => ({
    file: executable,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--namespace', NAMESPACE],
      ...['--port', String(ports.temporal), '--http-port', String(ports.temporalHttp)],
      ...['--ui-port', String(ports.temporalUi), '--ui-disable-news-fetch'],
      ...['--db-filename', join(home, 'temporal.db')],
      ...['--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal'],
      // One server, few workers: four partitions a queue only forward tasks to each other (9 % of the server's CPU).
      ...['--dynamic-config-value', 'matching.numTaskqueueReadPartitions=1'],
      ...['--dynamic-config-value', 'matching.numTaskqueueWritePartitions=1'],
      // Within a level of priority every campaign gets its share; else the one that came first is served first.
      ...['--dynamic-config-value', 'matching.enableFairness=true'],
      ...['--log-level', 'warn'],
    ],
    cwd: home,
    env: mark,
    log,
  });
  return {
    name: 'temporal',
    needs: [],
    ports: ['temporal', 'temporalHttp', 'temporalUi'],
    log,
    // Its own shutdown takes seconds in which it waits for pollers that are gone; the database needs none of it.
    stop: { signal: 'SIGTERM', graceMs: 1_000, order: 1 },
    startLimitMs: 60_000,
    fingerprint: () => sha256(executable, ...command().args).slice(0, 16),
    start: () => launch(command()),
    healthy: async () => (await getText(api(''))) !== undefined,
    async settle() {
      const at = ['--address', `127.0.0.1:${ports.temporal}`, '--namespace', NAMESPACE];
      const namespace = await getText(api(''));
      const retention = `${RETENTION_DAYS * 86_400}s`;
      if (!namespace?.includes(`"${retention}"`)) {
        await run(executable, [
          'operator',
          'namespace',
          'update',
          ...at,
          '--retention',
          `${RETENTION_DAYS}d`,
        ]);
      }
      const known = (await getText(api('/search-attributes'))) ?? '';
      for (const [name, type] of Object.entries(SEARCH_ATTRIBUTES)) {
        if (known.includes(`"${name}"`)) continue;
        const what = ['--name', name, '--type', type];
        await run(executable, ['operator', 'search-attribute', 'create', ...at, ...what]);
      }
    },
  };
}
