/** Gas is money: a change of the contracts that costs more is seen (data/contracts/gas.json). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_ANVIL } from './anvil.ts';
import { gasTable, measureGas } from './gas.ts';
import { chainRig } from './rig.ts';

const rig = await chainRig();
/** Signatures differ in their number of zero bytes, and salts too. */
const TOLERANCE = 0.01;

test('every action takes the gas that the table has', { skip: NO_ANVIL }, async () => {
  const [expected, measured] = [gasTable(), await measureGas(rig)];
  assert.deepEqual(Object.keys(measured), Object.keys(expected));
  for (const [action, gas] of Object.entries(measured)) {
    const difference = Math.abs(gas - expected[action]) / expected[action];
    assert.ok(difference <= TOLERANCE, `${action}: ${gas}, and ${expected[action]} in the table; npm run contracts`);
  }
});
