/** The end of a process with front threads, in a process of its own. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { STRIPPED_BEFORE } from '../../../../shared/base/stripTypes.ts';

const RIG = new URL('../../../support/frontRig.ts', import.meta.url).href;

/** Ends with open connections, some of whose calls are not answered. */
const PROGRAM = `
import { connect } from 'node:net';
import { startFronts } from ${JSON.stringify(RIG)};
const calls = [];
const route = { method: 'GET', path: '/never', summary: '', access: 'public', limit: 'unlimited', answers: {},
  handler: (call) => { if (calls.push(call) === 6) END(); } };
const { port } = await startFronts({ after: () => {} }, 3, [route]);
for (let at = 0; at < 6; at++) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write('GET /never HTTP/1.1\\r\\nHost: test\\r\\n\\r\\n');
}
`;

for (const [what, end, code] of [
  ['an exit', 'process.exit(70)', 70],
  ['an error that nothing catches', "setImmediate(() => { throw new Error('not caught'); })", 1],
] as const) {
  test(`FRONTS-2: ${what} ends the process with its code, whatever connections are open`, async () => {
    const args = [...STRIPPED_BEFORE, '--input-type=module', '--eval', PROGRAM.replace('END()', end)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let printed = '';
    child.stderr.on('data', (part) => {
      printed += part;
    });
    const [exitCode, signal] = await once(child, 'close');
    assert.deepEqual([exitCode, signal], [code, null], printed);
  });
}
