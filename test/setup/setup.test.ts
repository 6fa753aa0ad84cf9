/** Set-up: nothing to do is quick and silent, and everything that is wrong with a machine is one message. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { findPython } from '../../infra/setup/python.mjs';
import { ROOT } from '../../infra/setup/root.mjs';

const folder = mkdtempSync(join(tmpdir(), 'steadfast setup '));
const { PATH, PYTHON } = process.env;
afterEach(() => {
  process.env.PATH = PATH;
  if (PYTHON === undefined) delete process.env.PYTHON;
  else process.env.PYTHON = PYTHON;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function setUp(env: Record<string, string>, nodeArgs: readonly string[] = []) {
  const main = join(ROOT, 'infra', 'setup', 'main.mjs');
  const result = spawnSync(process.execPath, [...nodeArgs, main], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return { code: result.status, said: result.stderr };
}

describe('a machine that has everything', () => {
  it('is ready at once, with one line', () => {
    const { code, said } = setUp({});
    expect({ code, lines: said.trim().split('\n').length }).toEqual({ code: 0, lines: 1 });
    expect(said).toContain('ready');
  });
});

describe('what is wrong is one message, and exit code 2', () => {
  it('a file where the home should be', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const { code, said } = setUp({ STEADFAST_HOME: file });
    expect(code).toBe(2);
    expect(said).toContain(`${file}: expected a folder, found a file in its place`);
  });

  it('an old Node', () => {
    const older = join(folder, 'older.cjs');
    writeFileSync(older, "Object.defineProperty(process, 'versions', { value: { node: '18.20.4' } });");
    const { code, said } = setUp({}, ['--require', older]);
    expect(code).toBe(2);
    expect(said).toContain('expected 20.19 or newer, found 18.20.4');
  });

  it('no Python, or an old one: named with its version', () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    delete process.env.PYTHON;
    process.env.PATH = bin;
    expect(findPython).toThrow(/expected Python 3.11 or newer on PATH, found none/);
    const old = join(bin, 'python3');
    writeFileSync(old, '#!/bin/sh\necho 3.9.18\n');
    chmodSync(old, 0o755);
    expect(findPython).toThrow(/found python3 3\.9\.18/);
  });

  // Only root can mount; a continuous integration as root does.
  describe.runIf(canMount())('on a mounted disk', () => {
    it('that is full, or read-only', () => {
      const disk = mounted('size=16m');
      try {
        const full = setUp({ STEADFAST_HOME: join(disk, 'home') });
        expect(full.code).toBe(2);
        expect(full.said).toContain('found 16 MiB');
        execFileSync('mount', ['-o', 'remount,ro', disk]);
        const readOnly = setUp({ STEADFAST_HOME: join(disk, 'other', 'home') });
        expect(readOnly.code).toBe(2);
        expect(readOnly.said).toContain('found a read-only file system');
      } finally {
        execFileSync('umount', [disk]);
      }
    });
  });
});

function mounted(options: string): string {
  const disk = mkdtempSync(join(folder, 'disk '));
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', disk]);
  return disk;
}

function canMount(): boolean {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return false;
  try {
    execFileSync('umount', [mounted('size=1m')]);
    return true;
  } catch {
    // A container without the right to mount.
    return false;
  }
}
