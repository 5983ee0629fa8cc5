/**
 * `npm run test:fresh`: the engine on the Node that comes next. Everything of the exchange that needs no binary of
 * uWebSockets.js is tested there as on today's, so that a change of the Node has no surprises in it (runtime.md).
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { environment, IS_SUPPORTED, NODES, nodeOf } from './nodes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NEXT = 24;
const PARTS = ['core', 'book', 'journal', 'verify/kernel', 'admin/auditLog'].map((part) => `unit/engine/${part}`);
const SHARED = ['base', 'wire'].map((part) => `unit/shared/${part}`);
const LIMIT_MS = 1_200_000;

test(`the engine passes its tests on Node ${NEXT}`, {
  skip: IS_SUPPORTED ? false : 'the Nodes it installs with are those of Linux x64',
}, () => {
  const args = ['--import', './shared/base/keptSources.mjs', 'test/main.ts', ...PARTS, ...SHARED];
  const options = { cwd: ROOT, env: environment(), encoding: 'utf8', timeout: LIMIT_MS } as const;
  assert.equal(spawnSync(nodeOf(NEXT), ['-v'], options).stdout.trim(), `v${NODES[NEXT]}`);
  const { status, stdout, stderr } = spawnSync(nodeOf(NEXT), args, options);
  assert.equal(status, 0, `${stdout.split('failing tests').at(-1)}${stderr}`);
  assert.ok(Number(/^ℹ pass (\d+)$/m.exec(stdout)?.[1]) > 300, stdout);
});
