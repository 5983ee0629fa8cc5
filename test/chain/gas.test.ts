/** Gas is money: a change of the contracts that costs more is seen (data/contracts/gas.json). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_ANVIL } from './anvil.ts';
import { gasTable, measureGas } from './gas.ts';
import { chainRig } from './rig.ts';

const rig = await chainRig();
/** Signatures differ in their number of zero bytes, and salts too. */
const TOLERANCE = 0.01;
/** A match of a batch of 50 before contracts knew floors. It has two makers. */
const WITHOUT_FLOORS = 97_246;
const MOST_FOR_A_MAKER = 2300;

test('every action takes the gas that the table has', { skip: NO_ANVIL }, async () => {
  const [expected, measured] = [gasTable(), await measureGas(rig)];
  assert.deepEqual(Object.keys(measured), Object.keys(expected));
  for (const [action, gas] of Object.entries(measured)) {
    const difference = Math.abs(gas - expected[action]) / expected[action];
    assert.ok(difference <= TOLERANCE, `${action}: ${gas}, and ${expected[action]} in the table; npm run contracts`);
  }
});

test('the floor of a maker costs a batch 2,300 gas at most, also between three raises to come', () => {
  const table = gasTable();
  for (const name of [
    'settleBatch, each of 50 standard',
    'settleBatch, each of 50 standard, nonces below floors to come',
  ]) {
    const more = (table[name] - WITHOUT_FLOORS) / 2;
    assert.ok(more > 2100 && more <= MOST_FOR_A_MAKER, `${name}: ${more} for a maker`);
  }
});
