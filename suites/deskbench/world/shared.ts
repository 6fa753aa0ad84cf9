/** Tools that more than one desk has: passing a case on, and turning it down. */
import { record, type Tables } from './tables.js';
import { DeskError, type DeskTool, findRow } from './tool.js';

/** Above this a person must approve, in dollars. */
export const LIMIT = 60;

/** `over limit` or `under limit`, as desks say it of an amount in dollars. */
export function limitWords(amount: number): string {
  return amount > LIMIT ? 'over limit' : 'under limit';
}

const CASE_TABLES = ['orders', 'bookings', 'payments', 'accounts'];

/** A case is any row that requests can be about. */
function checkCase(tables: Tables, id: string | undefined): string {
  const known = CASE_TABLES.some((table) => findRow(tables, table, id));
  if (!known || id === undefined) throw new DeskError('no such case .');
  return id;
}

export const requestApproval: DeskTool = {
  name: 'request_approval',
  description: 'Pass a case to a person for approval. Use it where the rules do not let you act yourself.',
  parameters: { case: 'id of the order, payment or account' },
  writes: true,
  run(tables, args) {
    record(tables, 'approvals', checkCase(tables, args.case));
    return 'approval requested .';
  },
};

export const denyRequest: DeskTool = {
  name: 'deny_request',
  description: 'Turn a request down and note it on the case. Use it where the rules forbid what is asked.',
  parameters: { case: 'id of the order, booking or payment' },
  writes: true,
  run(tables, args) {
    record(tables, 'denials', checkCase(tables, args.case));
    return 'request denied .';
  },
};
