import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const MODULE = fileURLToPath(new URL('../../../../gateway/base/scavenges.ts', import.meta.url));

/** @returns whether V8 shares scavenges in a process on so many processors: its help names the flag as it is. */
function areShared(processors: number): boolean {
  const code = `
    const { setScavenges } = await import(${JSON.stringify(MODULE)});
    const { setFlagsFromString } = await import('node:v8');
    setScavenges(${processors});
    setFlagsFromString('--help');`;
  const { stdout } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', code]);
  const [flag] = /--(no-)?parallel-scavenge$/m.exec(stdout.toString()) ?? [];
  assert.ok(flag !== undefined, 'this V8 has the flag');
  return flag === '--parallel-scavenge';
}

describe('scavenges', () => {
  test('are shared with the helper threads of V8 unless the machine has only one or two processors', () => {
    assert.deepEqual([1, 2, 3].map(areShared), [false, false, true]);
  });
});
