/**
 * Ports that a stack of this machine has chosen. Between being chosen and being listened on a port looks free: two stacks
 * that start at the same moment would both take it, and one would find the other's Temporal and think it its own.
 * A claim is a file that names the supervisor; it holds while that process lives.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { isAlive, type ProcessId, self } from '../setup/process.mjs';

const folder = (): string => join(tmpdir(), `steadfast-ports-${userInfo().uid}`);
const TRIES = 5;
/** Claims of this process; they go when it ends. */
const held = new Set<string>();

interface Claim extends ProcessId {
  readonly home: string;
}

/** False when another home's living supervisor has chosen the port. The same home may claim it again. */
export function claimPort(home: string, port: number): boolean {
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  const file = join(folder(), String(port));
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ home, ...self() }), { mode: 0o600 });
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      if (linked(mine, file)) {
        if (held.size === 0) process.once('exit', () => held.forEach(release));
        held.add(file);
        return true;
      }
      const text = read(file);
      const claim = claimOf(text);
      if (claim && isAlive(claim)) return claim.home === home;
      if (text !== undefined) bury(file, text);
    }
    return false;
  } finally {
    rmSync(mine, { force: true });
  }
}

/** The name appears with its content, or not at all. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return false;
    throw error;
  }
}

/** Removes the claim of a dead process; one that somebody has put in its place meanwhile goes back. */
function bury(file: string, text: string): void {
  const aside = `${file}.${process.pid}.dead`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return;
    throw error;
  }
  if (read(aside) !== text) linked(aside, file);
  rmSync(aside, { force: true });
}

function release(file: string): void {
  const claim = claimOf(read(file));
  if (claim?.pid === process.pid) rmSync(file, { force: true });
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    throw error;
  }
}

function claimOf(text: string | undefined): Claim | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Claim;
  } catch {
    // Half a file of a machine that lost power: nobody's.
    return undefined;
  }
}
