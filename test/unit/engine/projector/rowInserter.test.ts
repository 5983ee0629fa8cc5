/** Rows that wait for one statement: none is lost, none is written twice, and each value is in its column. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { RowInserter } from '../../../../engine/projector/rowInserter.ts';
import { ASSIGNED_KEY, INTEGER, NULLABLE_TEXT, table } from '../../../../shared/tables/table.ts';

const PARCELS = table('parcels', { id: ASSIGNED_KEY, weight: INTEGER, label: NULLABLE_TEXT });

test('INSERTER-1: any number of rows is written once, in order, whatever the order of their members', () => {
  for (const count of [0, 1, 15, 16, 17, 32, 50]) {
    const db = new Database(':memory:');
    db.exec(PARCELS.schema);
    const inserter = new RowInserter(db, PARCELS);
    for (let weight = 0; weight < count; weight++) {
      inserter.add(weight % 2 === 0 ? { weight, label: `${weight}` } : { label: null, weight });
    }
    inserter.flush();
    inserter.flush();
    const rows = db.prepare<[], { weight: number; label: string | null }>('SELECT * FROM parcels ORDER BY id').all();
    assert.deepEqual(
      rows.map(({ weight, label }) => [weight, label]),
      Array.from({ length: count }, (_, weight) => [weight, weight % 2 === 0 ? `${weight}` : null]),
      `${count} rows`,
    );
  }
});
