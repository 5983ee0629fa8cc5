/** Gas is money: a change of the contracts that costs more is seen (data/contracts/gas.json). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { NO_ANVIL } from './anvil.ts';
import { gasTable, measureGas } from './gas.ts';
import { chainRig, key, USDC } from './rig.ts';

const rig = await chainRig();
/** Signatures differ in their number of zero bytes, and salts too. */
const TOLERANCE = 0.01;
/** A match of a batch of 50 before contracts knew floors. It has two makers. */
const WITHOUT_FLOORS = 97_246;
const MOST_FOR_A_MAKER = 2300;
/** The default (RULES.md 17.46). */
const MOVEMENTS_A_DAY = 20;
const USDC_ONE = 1_000_000n;
/** The default (RULES.md 17.50). */
const FEE_MICRO = 25_000n;

test('every action takes the gas that the table has', { skip: NO_ANVIL }, async () => {
  const [expected, measured] = [gasTable(), await measureGas(rig)];
  assert.deepEqual(Object.keys(measured), Object.keys(expected));
  for (const [action, gas] of Object.entries(measured)) {
    const difference = Math.abs(gas - expected[action]) / expected[action];
    assert.ok(difference <= TOLERANCE, `${action}: ${gas}, and ${expected[action]} in the table; npm run contracts`);
  }
});

/**
 * THREATS.md has these figures; a change here has to change them there. An account splits and merges everything that it
 * has, to and fro, or splits in one market after the other, whose tokens the operator claims in the end.
 */
test('what an account pays for its movements is three times what the operator pays', { skip: NO_ANVIL }, async () => {
  const threats = readFileSync(new URL('../../THREATS.md', import.meta.url), 'utf8');
  const table = gasTable();
  for (const gas of [table['pay, each of 30'], table['depositWithAuthorization']]) {
    assert.ok(threats.includes(`${gas.toLocaleString('en-US')} gas`), `THREATS.md names ${gas} gas`);
  }
  const attacker = key(71);
  const market = await rig.createMarket();
  await rig.fund(attacker, USDC_ONE + FEE_MICRO * BigInt(MOVEMENTS_A_DAY));
  const held = (): Promise<bigint> => rig.held(attacker, USDC);
  const move = async (name: string, amount: bigint): Promise<number> => {
    const args = [rig.freshHash(), attacker.address, market.conditionId, amount | (FEE_MICRO << 128n)];
    return Number((await rig.operator(name, args)).gasUsed);
  };
  let toAndFro = 0;
  for (let n = 0; n < MOVEMENTS_A_DAY / 2; n++) {
    const sets = (await held()) - FEE_MICRO;
    toAndFro += (await move('splitFor', sets)) + (await move('mergeFor', sets));
  }
  const split = await move('splitFor', (await held()) - FEE_MICRO);
  await rig.resolve(market, 1_000_000n, 0n);
  const claim = Number((await rig.operator('claim', [attacker.address, market.conditionId])).gasUsed);
  const [, dayMillions, claimed] = /makes (\d\.\d) million gas, or (\d+\.\d) million if/.exec(threats)!;
  const withClaims = MOVEMENTS_A_DAY * (split + claim);
  for (const [gas, said] of [
    [toAndFro, dayMillions],
    [withClaims, claimed],
  ] as const) {
    assert.ok(Math.abs(gas / 1e6 / Number(said) - 1) < 0.03, `${gas} gas, and ${said} million in THREATS.md`);
  }
  const paidMicro = Number(FEE_MICRO) * MOVEMENTS_A_DAY;
  // 30 gwei a unit of gas, and a coin for a USDC.
  const costMicro = (gas: number): number => gas * 30e-9 * 1e6;
  assert.ok(paidMicro > 3 * costMicro(toAndFro), `${paidMicro} for ${costMicro(toAndFro)} micro-USDC of gas`);
  assert.ok(paidMicro > 1.6 * costMicro(withClaims), `${paidMicro} for ${costMicro(withClaims)} with the claims`);
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
