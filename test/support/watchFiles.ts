/** Watches which files the code of a test syncs and renames, in its own thread. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

/** The names of the files on which Node's `node:fs` was called to sync or rename, in order. */
export function watchFiles(t: TestContext): string[] {
  const calls: string[] = [];
  const names = new Map<number, string>();
  const { openSync, fsyncSync, renameSync } = fs;
  t.mock.method(fs, 'openSync', (...args: Parameters<typeof openSync>) => {
    const fd = openSync(...args);
    names.set(fd, String(args[0]));
    return fd;
  });
  t.mock.method(fs, 'fsyncSync', (fd: number) => {
    fsyncSync(fd);
    calls.push(`sync ${names.get(fd)}`);
  });
  t.mock.method(fs, 'renameSync', (from: string, to: string) => {
    renameSync(from, to);
    calls.push(`rename ${from} ${to}`);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  return calls;
}
