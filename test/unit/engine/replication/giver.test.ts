/** A member that gives a copy to a joining one, with a thread for it that is busy as long as the test says. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Statement } from '../../../../engine/replication/command.ts';
import { GONE_MS } from '../../../../engine/replication/copyTable.ts';
import { Giver } from '../../../../engine/replication/giver.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import { ScriptedPostgres } from '../../../support/scriptedPostgres.ts';

const LOOK_MS = 1000;

/** Stores what the giver writes. A request stays until it is taken. */
class Table {
  readonly asked: string[] = [];
  requests: string[] = [];

  async read<Row>({ name }: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    if (name === 'claimCopy') {
      const attempt = this.requests.shift();
      return attempt === undefined ? [] : ([{ holder: 'joiner', attempt }] as Row[]);
    }
    this.asked.push(`${name} ${String(values[2])}`);
    return [{ left: 0 }] as Row[];
  }

  async ends(): Promise<readonly []> {
    return [];
  }
}

async function giverFor(t: TestContext, table: Table): Promise<{ giver: Giver; postgres: ScriptedPostgres }> {
  const postgres = await ScriptedPostgres.start(t);
  const url = `postgres://exchange@${postgres.host}/log`;
  const giver = new Giver({
    options: { url, cluster: 'exchange', isUnreplicatedAllowed: false, isUnsyncedAllowed: true, holder: 'giver' },
    log: table,
    directory: temporaryDirectory(),
    shards: 1,
    askControl: () => {},
    onNews: () => {},
  });
  t.after(() => giver.stop());
  return { giver, postgres };
}

test('a giver is there as long as its thread is, whatever that does', async (t) => {
  const table = new Table();
  const { giver, postgres } = await giverFor(t, table);
  // The thread gets as far as its first statement, and has no answer to it: as while SQLite copies a database.
  postgres.hang('statements');
  table.requests = ['1', '2'];
  await giver.look(false);
  await eventually('a thread that is at work', async () => postgres.held > 0);
  for (let lookMs = 0; lookMs <= GONE_MS; lookMs += LOOK_MS) await giver.look(false);
  assert.deepEqual(new Set(table.asked), new Set(['givingCopy 1']));
  assert.ok(table.asked.length >= GONE_MS / LOOK_MS, 'at each look');
  assert.deepEqual(table.requests, ['2'], 'one copy at a time');

  // Its connection is gone, and so is the thread: the member says no longer that it gives this one.
  postgres.cut();
  await eventually('the next copy', async () => {
    await giver.look(false);
    return table.requests.length === 0;
  });
  const before = table.asked.length;
  await giver.look(false);
  assert.deepEqual(table.asked.slice(before), ['givingCopy 2']);
});
