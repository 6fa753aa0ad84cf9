/**
 * A desk as a process: `node dist/suites/deskbench/stdio.js retail` speaks MCP on standard input and output. Images hold
 * it as a start-up snapshot (infra/images/snapshot.ts): loaded once, when the image was made.
 */
import { startupSnapshot } from 'node:v8';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { UsageError } from '../../core/faults.js';
import { createDeskServer } from './server.js';
import { DOMAIN_NAMES, isDomain } from './world/domains.js';

function serve(): void {
  const domain = process.argv[2] ?? '';
  if (!isDomain(domain)) {
    const error = new UsageError('desk', DOMAIN_NAMES.join(', '), domain === '' ? 'nothing' : `"${domain}"`);
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
  const server = createDeskServer(domain);
  // A host that goes away closes our input; nothing is left to serve then.
  process.stdin.on('end', () => process.exit(0));
  void server.connect(new StdioServerTransport());
}

if (startupSnapshot.isBuildingSnapshot()) {
  // What every session needs is made on first use: here.
  for (const domain of DOMAIN_NAMES) createDeskServer(domain);
  startupSnapshot.setDeserializeMainFunction(serve);
} else serve();
