import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const INSTANCE = new URL('../../../../../engine/verify/kernel/instance.ts', import.meta.url);

test('V8 has the phases that the kernel is compiled with, and uses them from its first instance on', () => {
  const code = `
    await import('${INSTANCE}');
    const { setFlagsFromString } = await import('node:v8');
    setFlagsFromString('--help');`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', code]);
  // Its help names each flag as it is.
  const hasChoice = process.versions.v8.startsWith('12.');
  const flag = /--(?:no-)?turboshaft-wasm$/m.exec(stdout.toString())?.[0];
  assert.equal(flag, hasChoice ? '--turboshaft-wasm' : undefined, 'later versions have no other phases');
  assert.equal(stderr.toString(), '', 'a flag that V8 does not have is named here');
});
