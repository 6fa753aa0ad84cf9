/** A desk as a process: `node dist/suites/deskbench/stdio.js retail` speaks MCP on standard input and output. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { UsageError } from '../../core/faults.js';
import { createDeskServer } from './server.js';
import { DOMAIN_NAMES, isDomain } from './world/domains.js';

const domain = process.argv[2] ?? '';
if (!isDomain(domain)) {
  const error = new UsageError('desk', DOMAIN_NAMES.join(', '), domain === '' ? 'nothing' : `"${domain}"`);
  process.stderr.write(`${error.message}\n`);
  process.exit(2);
}
const server = createDeskServer(domain);
// A host that goes away closes our input; nothing is left to serve then.
process.stdin.on('end', () => process.exit(0));
await server.connect(new StdioServerTransport());
