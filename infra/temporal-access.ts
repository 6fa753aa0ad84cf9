/**
 * How Temporal is reached: Temporal's own variables (`TEMPORAL_ADDRESS`, `TEMPORAL_TLS_…`, `TEMPORAL_API_KEY`), and its
 * configuration file where `TEMPORAL_PROFILE` or `TEMPORAL_CONFIG_FILE` asks for it. A file that nobody asked for is
 * not read: a profile of some cloud must not change how the local stack is reached.
 */
import { existsSync } from 'node:fs';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';
import { UsageError } from '../core/faults.js';
import { registerSecret } from '../core/secrets.js';

/** What a connection needs beside the address: certificates, keys, headers. */
export type TemporalAccess = Pick<ClientConnectConfig['connectionOptions'], 'tls' | 'apiKey' | 'metadata'>;

export interface TemporalPlace {
  readonly address: string | undefined;
  readonly namespace: string | undefined;
  readonly access: TemporalAccess;
}

/** Throws `UsageError` for a profile or a certificate that cannot be read. */
export function temporalPlace(env: NodeJS.ProcessEnv): TemporalPlace {
  const file = env.TEMPORAL_CONFIG_FILE;
  if (file && !existsSync(file))
    throw new UsageError('TEMPORAL_CONFIG_FILE', 'a file', `${file}, which is none`);
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({
      disableFile: !env.TEMPORAL_PROFILE && !env.TEMPORAL_CONFIG_FILE,
      overrideEnvVars: variables(env),
    });
    const { address, tls, apiKey, metadata } = connectionOptions;
    if (typeof apiKey === 'string') registerSecret(apiKey);
    const access: TemporalAccess = {
      ...(tls === undefined ? {} : { tls }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(metadata === undefined ? {} : { metadata }),
    };
    return { address, namespace, access };
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    throw new UsageError('TEMPORAL_…', 'a profile, certificates and keys that can be read', found);
  }
}

/** A variable that is set to nothing is not set. The home folder is where the configuration file usually lies. */
function variables(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value && (name.startsWith('TEMPORAL_') || name === 'HOME' || name === 'XDG_CONFIG_HOME')
        ? [[name, value]]
        : [],
    ),
  );
}
