/** The supervisor's process: `node dist/infra/stack/main.js '{"plan": …, "fingerprint": …}'`, started by `startStack`. */
import { type PlanOptions, planStack, portsOf } from './plan.js';
import { supervise } from './supervisor.js';

const { plan, fingerprint } = JSON.parse(process.argv[2] ?? '{}') as {
  plan: PlanOptions;
  fingerprint: string;
};
await supervise({
  home: plan.home,
  fingerprint,
  plan: (ports) => planStack(plan, ports),
  portsOf,
});
// Timers of abandoned waits would hold the process.
process.exit();
