/** Orders are placed or refused by the state of settlement (gateway/chain/health.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../../gateway/base/log.ts';
import { ChainHealth } from '../../../../gateway/chain/health.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import type { SettlementHealth } from '../../../../shared/wire/threads.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const GOOD: SettlementHealth = {
  unhealthy: null,
  problem: null,
  isWaitingForLog: false,
  failed: 0,
  failedInRow: 0,
  foreign: 0,
  oldestTradeMs: 0,
  oldestWorkMs: 0,
  unsettled: { pending: 0, submitted: 0, mined: 0 },
  headAgeMs: 0,
  headNumber: 9,
  finalizedNumber: 3,
  behind: 0,
  move: null,
  isAtMostFee: false,
  lastRefusal: null,
  differences: 0,
  waiting: 0,
  withoutWallet: 0,
  refusedPayments: 0,
  heldUpPayments: 0,
  waitingSets: 0,
  scannedBlock: 3,
  reconciledBlock: 3,
  compared: 0,
  floorsToCarry: 0,
  balances: [],
  decisions: {
    counts: { wanted: 0, proposed: 0, decided: 0, otherwise: 0 },
    mayPropose: true,
    delays: null,
    foreign: [],
  },
  nodes: [],
};

function rig() {
  const clock = new ManualClock(1_000_000);
  const changes: (string | null)[] = [];
  const lines: { level: string; msg: string }[] = [];
  const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const health = new ChainHealth({ lowBalanceWei: 100n, clock, log, onChange: (reason) => changes.push(reason) });
  return { clock, changes, lines, health };
}

test('no order is placed before settlement has said that it is healthy', () => {
  const { health, changes } = rig();
  health.tick();
  assert.equal(health.refusal, ERRORS.SETTLEMENT_UNHEALTHY);
  assert.equal(health.isConnected, false);
  health.note(GOOD);
  assert.deepEqual([health.refusal, health.isConnected], [null, true]);
  assert.deepEqual(changes, [null]);
});

test('no order is placed while the ledger has to follow something first, and the reason is named', () => {
  const { health, changes } = rig();
  health.waitFor(({ floorsToCarry }) => (floorsToCarry === 0 ? null : 'floors wait'));
  health.note({ ...GOOD, floorsToCarry: 1 });
  assert.equal(health.refusal, ERRORS.SETTLEMENT_UNHEALTHY);
  health.note(GOOD);
  assert.deepEqual([health.refusal, changes], [null, ['floors wait', null]]);
});

test('a node that is not as the others is named in the log, once, and once more when it is well again', () => {
  const { health, lines } = rig();
  const well = { node: 1, state: 'well', reason: null, differences: 0 } as const;
  const reason = 'eth_getLogs: another answer than the others';
  const wrong = { node: 2, state: 'differs', reason, differences: 1 } as const;
  health.note({ ...GOOD, nodes: [well, { ...well, node: 2 }] });
  const before = lines.length;
  for (let i = 0; i < 3; i++) health.note({ ...GOOD, nodes: [well, wrong] });
  health.note({ ...GOOD, nodes: [well, { ...wrong, state: 'well', reason: null }] });
  const said = lines.slice(before).map(({ level, msg, ...facts }) => [level, msg, facts]);
  assert.equal(said.length, 2);
  assert.match(JSON.stringify(said[0]), /"a node of RPC_URL is not as the others".*"node":2,"state":"differs"/);
  assert.match(JSON.stringify(said[1]), /"a node of RPC_URL is as the others again".*"node":2/);
});

test('each change is logged once, however often it is reported', () => {
  const { health, changes, lines } = rig();
  health.note(GOOD);
  const bad = { ...GOOD, unhealthy: 'a trade has waited too long for its batch', problem: 'no answer from the node' };
  for (let i = 0; i < 5; i++) health.note(bad);
  assert.deepEqual(changes, [null, bad.unhealthy]);
  assert.deepEqual([health.refusal, health.isConnected], [ERRORS.SETTLEMENT_UNHEALTHY, false]);
  health.note({ ...GOOD, foreign: 1 });
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['info', 'warn', 'warn', 'info', 'error', 'info'],
  );
});

test('a contract by which a decision may take effect within an hour is warned of once', () => {
  const { health, lines } = rig();
  const withDelays = (delaySec: number, leastDelaySec: number) => {
    health.note({ ...GOOD, decisions: { ...GOOD.decisions, delays: { delaySec, leastDelaySec } } });
    return lines.filter(({ msg }) => msg.includes('an hour to veto')).length;
  };
  assert.equal(withDelays(3600, 3600), 0);
  assert.equal(withDelays(7200, 3599), 1, 'the administrator could shorten it');
  assert.equal(withDelays(3599, 60), 1);
  assert.equal(withDelays(3600, 3600), 1);
  assert.equal(withDelays(3599, 3599), 2);
});

test('settlement that waits for the log of a cluster is not silent, and is logged once', () => {
  const { health, clock, changes, lines } = rig();
  health.note(GOOD);
  for (let second = 0; second < 40; second++) {
    clock.advance(1000);
    health.note({ ...GOOD, isWaitingForLog: true });
  }
  assert.deepEqual([health.refusal, health.isConnected], [null, true]);
  health.note(GOOD);
  assert.deepEqual(changes, [null], 'the log itself refuses what cannot be done meanwhile');
  assert.equal(lines.filter(({ msg }) => msg.includes('settlement waits until')).length, 1);
});

test('a key with too little for gas, too low a bound of fees and a difference are each logged once', () => {
  const { health, lines } = rig();
  const balances = (operator: bigint | null) => [
    { job: 'OPERATOR', address: '0x01', wei: operator },
    { job: 'DEPLOYER', address: '0x02', wei: 100n },
  ];
  health.note({ ...GOOD, balances: balances(null) });
  assert.deepEqual(health.lowKeys, []);
  const bad = { ...GOOD, balances: balances(99n), isAtMostFee: true, differences: 2, unhealthy: 'they differ' };
  for (let i = 0; i < 3; i++) health.note(bad);
  assert.deepEqual(health.lowKeys, ['OPERATOR']);
  health.note({ ...GOOD, balances: balances(100n) });
  assert.deepEqual(health.lowKeys, []);
  assert.deepEqual(
    lines.slice(1).map(({ level }) => level),
    ['error', 'error', 'fatal', 'warn', 'info'],
  );
});

test('a thread that reports nothing for 15 seconds is not healthy', () => {
  const { health, clock } = rig();
  health.note(GOOD);
  clock.advance(14_999);
  health.tick();
  assert.equal(health.refusal, null);
  clock.advance(1);
  health.tick();
  assert.deepEqual([health.refusal, health.isConnected], [ERRORS.SETTLEMENT_UNHEALTHY, false]);
  health.note(GOOD);
  assert.deepEqual([health.refusal, health.isConnected], [null, true]);
});
