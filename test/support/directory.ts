/** Temporary directories: a test that needs one gets it here, and it goes away with the process of the test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

/**
 * A new directory. It is removed when this process ends and not earlier, so that servers and threads of the test, which
 * end before it, never lose the files they write.
 */
export function temporaryDirectory(parent = tmpdir()): string {
  if (made.length === 0) process.once('exit', removeAll);
  const path = mkdtempSync(join(parent, 'exchange-test-'));
  made.push(path);
  return path;
}

function removeAll(): void {
  for (const path of made) rmSync(path, { recursive: true, force: true, maxRetries: 3 });
}
