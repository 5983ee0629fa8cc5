/**
 * Cash-outs that were under way in the version before the books had a payer of their own, with account nonces and
 * envelopes on both rails: `test/upgrade/makeCashOuts.ts` made them there, with its code. Each ends once here.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../../support/directory.ts';
import { sessionOfWalk, walkOffRamp } from '../../../support/fiatCrashes.ts';
import { CUSTOMER, chainLeftIn, FiatRig } from '../../../support/fiatRig.ts';

/** A value of a column; bytes as JSON has them. */
type Value = string | number | { readonly data: readonly number[] };

type CashOut = {
  readonly on: 'ledger' | 'evm';
  readonly point: string;
  readonly nowMs: number;
  readonly rows: Readonly<Record<string, readonly Readonly<Record<string, Value>>[]>>;
  readonly books?: string;
  readonly chain?: string;
};

const AMOUNT_MICRO = 25_000_000;
const FUNDS_MICRO = 1_000_000_000;
const VECTORS = new URL('../../../vectors/cashOuts.json', import.meta.url);
const cashOuts: readonly CashOut[] = JSON.parse(readFileSync(VECTORS, 'utf8'));

async function openedToday({ on, nowMs, rows, books, chain }: CashOut): Promise<FiatRig> {
  const directory = temporaryDirectory();
  if (books !== undefined) writeFileSync(join(directory, 'books.json'), books);
  if (chain !== undefined) writeFileSync(join(directory, 'chain.jsonl'), chain);
  const rig = new FiatRig({ on, directory, ...(on === 'evm' ? { evm: await chainLeftIn(directory) } : {}) });
  for (const [table, each] of Object.entries(rows)) {
    for (const row of each) {
      const values = Object.values(row).map((each) => (typeof each === 'object' ? Buffer.from(each.data) : each));
      const places = values.map(() => '?');
      const insert = `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${places})`;
      rig.database.prepare<unknown[]>(insert).run(...values);
    }
  }
  rig.clock.advance(nowMs - rig.nowMs);
  rig.open();
  // The provider has not forgotten its transaction.
  const session = sessionOfWalk(rig)!;
  rig.provider.set(session.partnerReference, rig.rowOf(session, {}));
  return rig;
}

test('the earlier version left cash-outs with account nonces, in the books and on a chain, sent and not sent', () => {
  for (const on of ['ledger', 'evm']) {
    const envelopes = cashOuts
      .filter((each) => each.on === on)
      .map(({ rows }) => rows['fiat_envelopes']?.[0]?.['state']);
    assert.deepEqual([...new Set(envelopes)], [undefined, 'built', 'accepted']);
  }
  const sent = cashOuts.flatMap(({ rows }) => rows['rail_transactions'] ?? []);
  assert.deepEqual([...new Set(sent.map(({ state }) => state))], ['pending', 'included', 'mined']);
  assert.deepEqual([...new Set(sent.map(({ account_nonce }) => account_nonce))], [0]);
});

for (const cashOut of cashOuts) {
  const { on, point } = cashOut;
  test(`16.22: ${on} rail: a cash-out of the earlier version, left ${point}, is paid once`, async () => {
    const rig = await openedToday(cashOut);
    await walkOffRamp(rig, () => false);
    // Whatever was sent twice would have been carried out by then.
    await rig.pass(120_000, 5000);
    const session = sessionOfWalk(rig)!;
    assert.equal(session.status, 'completed');
    assert.deepEqual([rig.customerMicro, rig.providerMicro], [FUNDS_MICRO - AMOUNT_MICRO, FUNDS_MICRO + AMOUNT_MICRO]);
    assert.equal((await rig.rail.authorization(CUSTOMER, rig.intent(session).nonce)).state, 'used');
    assert.deepEqual([[...rig.rows.open()], rig.fiat.webhooks.waiting(), rig.fiat.payer.state], [[], [], 'idle']);
    const mined = rig.rows.ofNonce(CUSTOMER, rig.intent(session).nonce).filter(({ state }) => state === 'mined');
    assert.equal(mined.length, on === 'ledger' ? 1 : 0);
    const { transactions } = { transactions: rig.fiat.payer.transactionsOf(session.id) };
    assert.ok(
      transactions.some(({ txHash }) => txHash === session.txHash),
      'an operator sees the one that paid',
    );
  });
}
