/** Every wait of a test has an end, and its error names what was awaited (test/support/eventually.ts). */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';

const MODULE = new URL('../support/eventually.ts', import.meta.url).href;
/** The limit is read when the module is loaded. */
const SCRIPT = `
  import { eventually, within } from '${MODULE}';
  const never = new Promise(() => {});
  let looks = 0;
  const waits = [
    eventually('a fox', async () => ++looks > 1 && false),
    eventually(() => \`a hare, after some looks: \${looks > 1}\`, () => never),
    within('an owl', never),
    within('a mole', Promise.reject(new Error('it is ill'))),
    within('a hedgehog', Promise.resolve('it is here')),
    eventually('a stork', async () => looks > 1 && 'it is back'),
  ];
  const ends = await Promise.allSettled(waits);
  console.log(JSON.stringify(ends.map(({ reason, value }) => reason?.message ?? value)));`;

test('a wait ends, also one for a look that does not, and says what never came', async () => {
  const args = [...STRIPPED_BEFORE, '--input-type=module', '-e', SCRIPT];
  const env = { ...process.env, EVENTUALLY_MS: '200' };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  assert.deepEqual(JSON.parse(stdout), [
    'never came: a fox',
    'never came: a hare, after some looks: true',
    'never came: an owl',
    'it is ill',
    'it is here',
    'it is back',
  ]);
});
