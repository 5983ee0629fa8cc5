/** Every statement about cashing in and out stays inside an index: none walks a table that grows. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { FiatSessions } from '../../../../gateway/fiat/fiatSessionsStore.ts';
import { FiatTransfers } from '../../../../gateway/fiat/fiatTransfersStore.ts';
import { FiatWebhooks } from '../../../../gateway/fiat/fiatWebhooksStore.ts';
import { RailTransactions } from '../../../../gateway/fiat/railTransactionsStore.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

/** At the start the events are counted, once. */
const COUNTED_ONCE = 'SELECT COUNT(*) FROM fiat_webhooks';

test('no statement about sessions, transfers, events or the rail scans a table', () => {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  const prepare = database.prepare.bind(database);
  const statements = new Set<string>();
  database.prepare = ((sql: string) => {
    statements.add(sql);
    return prepare(sql);
  }) as typeof database.prepare;
  new FiatSessions(database);
  new FiatTransfers(database);
  new FiatWebhooks(database);
  new RailTransactions(database);
  assert.ok(statements.size > 30);
  for (const sql of statements) {
    if (sql === COUNTED_ONCE || /^\s*INSERT/.test(sql)) continue;
    const names = [...new Set(sql.match(/\$\w+/g) ?? [])].map((name) => [name.slice(1), null]);
    const values = names.length > 0 ? [Object.fromEntries(names)] : (sql.match(/\?/g) ?? []).map(() => null);
    const plan = prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
    // An index of only open or alarming rows is short, and so is a scan that ends at its LIMIT.
    const isShort = /USING (?:COVERING )?INDEX/;
    const scans = plan.map(({ detail }) => detail).filter((step) => step.startsWith('SCAN') && !isShort.test(step));
    assert.deepEqual(
      scans.filter((step) => !/^SCAN (?:\(subquery|CONSTANT)/.test(step)),
      [],
      sql,
    );
  }
  database.close();
});
