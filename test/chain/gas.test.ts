/** Gas is money: a change of the contracts that costs more is seen (data/contracts/gas.json). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { NO_ANVIL } from './anvil.ts';
import { gasTable, measureGas } from './gas.ts';
import { chainRig, key } from './rig.ts';

const rig = await chainRig();
/** Signatures differ in their number of zero bytes, and salts too. */
const TOLERANCE = 0.01;
/** A match of a batch of 50 before contracts knew floors. It has two makers. */
const WITHOUT_FLOORS = 97_246;
const MOST_FOR_A_MAKER = 2300;
/** By default (RULES.md 17.46). */
const MOVEMENTS_A_DAY = 20;
const USDC_ONE = 1_000_000n;

test('every action takes the gas that the table has', { skip: NO_ANVIL }, async () => {
  const [expected, measured] = [gasTable(), await measureGas(rig)];
  assert.deepEqual(Object.keys(measured), Object.keys(expected));
  for (const [action, gas] of Object.entries(measured)) {
    const difference = Math.abs(gas - expected[action]) / expected[action];
    assert.ok(difference <= TOLERANCE, `${action}: ${gas}, and ${expected[action]} in the table; npm run contracts`);
  }
});

/** THREATS.md has these figures, and a change of one of them changes it. */
test('a day of movements costs the operator 30 times what it costs the account', { skip: NO_ANVIL }, async () => {
  const threats = readFileSync(new URL('../../THREATS.md', import.meta.url), 'utf8');
  const table = gasTable();
  for (const gas of [table['pay, each of 30'], table['depositWithAuthorization']]) {
    assert.ok(threats.includes(`${gas.toLocaleString('en-US')} gas`), `THREATS.md names ${gas} gas`);
  }
  const attacker = key(71);
  const market = await rig.createMarket();
  await rig.mint(attacker.address, USDC_ONE);
  const deposit = await rig.depositArgs(attacker, USDC_ONE);
  const own = Number((await rig.exchange(attacker.address, 'depositWithAuthorization', deposit)).gasUsed);
  let ours = 0;
  for (let n = 0; n < MOVEMENTS_A_DAY; n++) {
    const args = [rig.freshHash(), attacker.address, market.conditionId, USDC_ONE];
    ours += Number((await rig.operator(n % 2 === 0 ? 'splitFor' : 'mergeFor', args)).gasUsed);
  }
  const [, said] = /so (\d\.\d) million gas/.exec(threats)!;
  assert.ok(Math.abs(ours / 1e6 / Number(said) - 1) < 0.03, `${ours} gas, and ${said} million in THREATS.md`);
  assert.ok(ours > 30 * own, `${ours} for ${own} of the account`);
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
