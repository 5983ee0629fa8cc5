/** Statements of providers compared with sessions and movements (RULES.md 16.80 to 16.84). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { DailyStatements } from '../../../../gateway/fiat/dailyStatements.ts';
import type { FiatSession } from '../../../../gateway/fiat/fiatSessionsStore.ts';
import { FiatStatements } from '../../../../gateway/fiat/fiatStatementsStore.ts';
import type { FiatProvider, StatedRow } from '../../../../gateway/fiat/provider.ts';
import { startOfDay } from '../../../../gateway/fiat/statements.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { FiatRig } from '../../../support/fiatRig.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const USDC = 1_000_000;

/** A purchase of 25 USDC that is completed. */
async function bought(rig: FiatRig): Promise<FiatSession> {
  const session = await rig.create('onramp');
  const txHash = await rig.sendFromProvider(25 * USDC);
  await rig.provide(session, { status: 'success', txHash, amount: { value: '25', currency: 'USDC' } });
  await rig.pass(120_000, 1000);
  const done = rig.session(session);
  assert.equal(done.status, 'completed');
  return done;
}

const dayOf = (rig: FiatRig): string => new Date(rig.nowMs).toISOString().slice(0, 10);

function row(session: FiatSession, changes: Partial<StatedRow> = {}): StatedRow {
  const { partnerReference: reference, kind } = session;
  return {
    transactionId: `tx-${reference}`,
    reference,
    kind,
    status: 'settled',
    amount: '25',
    currency: 'USDC',
    ...changes,
  };
}

function compared(rig: FiatRig, rows: readonly StatedRow[], day = dayOf(rig)) {
  const { matched, differences } = rig.fiat.statements.compare('fake', day, rows);
  return [
    matched,
    differences.map(({ kind, oursMicro, theirsMicro, claimMicro }) => [kind, oursMicro, theirsMicro, claimMicro]),
  ];
}

test('16.80: a statement that agrees has no differences, and may be compared again', async () => {
  const rig = new FiatRig();
  const session = await bought(rig);
  for (const _ of [1, 2]) assert.deepEqual(compared(rig, [row(session)]), [1, []]);
  assert.equal(rig.fiat.statementRows.openCount, 0);
});

test('16.81: missing here, missing there, another amount, not completed here', async () => {
  const rig = new FiatRig();
  const session = await bought(rig);
  const begun = await rig.create('onramp');
  const unknown = row(session, { transactionId: 'x', reference: 'nobody' });
  assert.deepEqual(compared(rig, [unknown]), [
    0,
    [
      ['missing_here', null, 25 * USDC, 0],
      ['missing_there', 25 * USDC, null, 0],
    ],
  ]);
  const others = [row(session, { amount: '24.5' }), row(begun), row(session, { kind: 'offramp', transactionId: 'y' })];
  assert.deepEqual(compared(rig, others), [
    0,
    [
      ['other_amount', 25 * USDC, 24.5 * USDC, 0],
      ['not_completed_here', null, 25 * USDC, 0],
      ['missing_here', null, 25 * USDC, 0],
    ],
  ]);
  const [, euros] = compared(rig, [row(session, { currency: 'EUR' })]);
  assert.deepEqual(euros, [['other_amount', 25 * USDC, null, 0]]);
});

test('16.81: a difference that a later statement explains is closed without an operator', async () => {
  const rig = new FiatRig();
  const session = await bought(rig);
  const day = dayOf(rig);
  assert.equal((compared(rig, [], day)[1] as unknown[]).length, 1);
  const next = new Date(startOfDay(day)! + 86_400_000).toISOString().slice(0, 10);
  assert.deepEqual(compared(rig, [row(session)], next), [1, []]);
  assert.equal(rig.fiat.statementRows.openCount, 0);
  const [closed] = rig.fiat.statementRows.list(false, 10, 0);
  assert.deepEqual([closed?.kind, closed?.closedBy], ['missing_there', '']);
  assert.deepEqual(compared(rig, [], day), [0, []], 'the statement of the day after has it');
});

test('16.82: money that came back after a purchase is a claim, and the balance stays', async () => {
  for (const status of ['refunded', 'charged_back'] as const) {
    const rig = new FiatRig();
    const session = await bought(rig);
    const before = rig.customerMicro;
    const back = row(session, { status });
    assert.deepEqual(compared(rig, [back]), [0, [[status, 25 * USDC, 25 * USDC, 25 * USDC]]]);
    assert.equal(rig.customerMicro, before, 'no balance is changed');
    assert.equal(rig.session(session).alarm, status);
    assert.equal(rig.fiat.statementRows.claimMicro, 25 * USDC);
    // An older statement has the state of its own time.
    compared(rig, [row(session)]);
    assert.equal(rig.fiat.statementRows.openCount, 1, 'an operator alone closes it');
    const { sequence } = rig.fiat.statementRows.list(true, 10, 0)[0]!;
    rig.fiat.statementRows.close(sequence, 'olga', 'paid back', rig.nowMs);
    assert.deepEqual(compared(rig, [back]), [0, []], 'and it stays closed');
    assert.equal(rig.fiat.statementRows.claimMicro, 0);
  }
});

test('16.82: a claim is at most the amount received, and money that came back before is no claim', async () => {
  const rig = new FiatRig();
  const session = await bought(rig);
  const [, part] = compared(rig, [row(session, { status: 'refunded', amount: '10' })]);
  assert.deepEqual(part, [['refunded', 25 * USDC, 10 * USDC, 10 * USDC]]);
  const [, more] = compared(rig, [row(session, { status: 'refunded', amount: '90' })]);
  assert.deepEqual(more, [['refunded', 25 * USDC, 90 * USDC, 25 * USDC]]);
  const unpaid = await rig.create('onramp');
  const [, none] = compared(rig, [row(unpaid, { status: 'charged_back' })]);
  assert.deepEqual(none, []);
});

test('a day must exist in the calendar', () => {
  assert.equal(startOfDay('2026-02-30'), null);
  assert.equal(startOfDay('2026-13-01'), null);
  assert.equal(startOfDay('2026-11-28'), Date.UTC(2026, 10, 28));
});

test('16.80: each day is compared by itself once it is over, and asked for again until it was', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 20, 12));
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  const rows = new FiatStatements(database);
  const [asked, compared, failures] = [[] as string[], [] as string[], [] as string[]];
  let isDown = true;
  const provider = {
    statement: async (startMs: number) => {
      asked.push(new Date(startMs).toISOString().slice(0, 10));
      if (isDown) throw new Error('away');
      return [];
    },
  } as unknown as FiatProvider;
  const compare = (name: string, day: string) => {
    compared.push(day);
    rows.compared({ provider: name, day, rowCount: 0, nowMs: 1 }, () => undefined);
    return { matched: 0, differences: [] };
  };
  const silent = {} as unknown as FiatProvider;
  const daily = new DailyStatements({
    ...{
      providers: new Map([
        ['silent', silent],
        ['fake', provider],
      ]),
      rows,
      statements: { compare },
      clock,
    },
    onFailure: (_, name) => void failures.push(name),
  });
  await daily.tick();
  assert.deepEqual(asked, [], 'a start has other things to do');
  clock.advance(600_000);
  await daily.tick();
  assert.deepEqual([asked.splice(0), failures.splice(0)], [['2026-11-13'], ['fake']]);
  isDown = false;
  await daily.tick();
  clock.advance(3_600_000);
  await Promise.all([daily.tick(), daily.tick()]);
  const week = ['13', '14', '15', '16', '17', '18', '19'].map((day) => `2026-11-${day}`);
  assert.deepEqual([asked.splice(0), compared.splice(0), failures], [week, week, []]);
  // Midnight, and not yet an hour later; then only the day that is new.
  clock.advance(40_800_000);
  await daily.tick();
  assert.deepEqual(asked, []);
  clock.advance(3_600_000);
  await daily.tick();
  assert.deepEqual([asked, compared], [['2026-11-20'], ['2026-11-20']]);
  database.close();
});
