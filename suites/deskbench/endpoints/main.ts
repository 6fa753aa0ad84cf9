/**
 * Serves the simulated user and the judge: `PORT=8100 node dist/suites/deskbench/endpoints/main.js`, on 127.0.0.1 unless
 * `STEADFAST_LISTEN` says otherwise. Stops on SIGTERM.
 */
import { UsageError } from '../../../core/faults.js';
import { startEndpoints } from './app.js';

function portFromEnvironment(): number {
  const text = process.env.PORT ?? '';
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new UsageError('PORT', 'a port number, or 0 for a free one', text === '' ? 'nothing' : `"${text}"`);
  }
  return port;
}

try {
  const endpoints = await startEndpoints(portFromEnvironment(), process.env.STEADFAST_LISTEN || undefined);
  process.stdout.write(`${JSON.stringify({ user: endpoints.userUrl, judge: endpoints.judgeUrl })}\n`);
  const stop = () => {
    endpoints.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
}
