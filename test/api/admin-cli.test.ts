/** `npm run admin` beside a real server and on the files of a stopped one: verify, export, audit, repair. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { runAdminHere } from '../support/adminProgram.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { firstRecord } from '../support/firstRecord.ts';
import { type Json, startServer } from '../support/server.ts';
import { assertBalanced, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const MAIN = fileURLToPath(new URL('../../engine/admin/main.ts', import.meta.url));

const server = await startServer(fileScope, { SNAPSHOT_EVERY: '1000000' });

/** Users are numbered as they are made, and the demo is off. */
const FIRST_ACCOUNT = 1;

function admin(...args: string[]): ReturnType<typeof runAdminHere> {
  return runAdminHere(args, { DATA_DIR: server.dataDir });
}

async function exported(...args: string[]): Promise<Json[]> {
  const { status, stdout, stderr } = await admin('journal', 'export', ...args);
  assert.equal(status, 0, stderr);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)!;
}

/** Two markets of two shards where orders rest, cross, mint, merge, are cancelled and split. */
async function trade(): Promise<{ markets: OrderMarket[]; traders: Trader[] }> {
  const markets = [await makeMarket(server), await makeMarket(server, { ticks_per_unit: 1000 })];
  const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
  for (const market of markets) {
    for (let i = 0; i < 6; i++) await alice.place(market, { price: `0.4${i}`, size: '3' });
    await bob.place(market, { outcomeIndex: 1, price: '0.57', size: '7' });
    await alice.place(market, { side: 'SELL', price: '0.61', size: '2' });
    await bob.place(market, { price: '0.65', size: '5', timeInForce: 'FAK' });
    await bob.place(market, { outcomeIndex: 1, side: 'SELL', price: '0.35', size: '2' });
    await alice.client.split(market.id, 5_000_000);
    await alice.client.cancelOrder((await alice.client.openOrders(market.id))[0].order_hash);
  }
  return { markets, traders: [alice, bob] };
}

/** The content of every file but the indexes of write-ahead logs, by name. */
function filesOf(directory: string): Map<string, string> {
  const names = readdirSync(directory).filter(
    (name) => statSync(join(directory, name)).isFile() && !name.endsWith('-shm'),
  );
  return new Map(
    names.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(directory, name)))
        .digest('hex'),
    ]),
  );
}

describe('admin', () => {
  let markets: OrderMarket[] = [];
  let traders: Trader[] = [];
  before(async () => {
    ({ markets, traders } = await trade());
  });

  it('checks and adds up while the exchange runs, and does not repair then', async () => {
    const verified = await admin('journal', 'verify');
    assert.deepEqual([verified.status, lastLine(verified.stdout)], [0, 'ok'], verified.stdout + verified.stderr);
    const audited = await admin('audit');
    assert.deepEqual([audited.status, lastLine(audited.stdout)], [0, 'balanced'], audited.stdout + audited.stderr);
    const ledger = await server.admin.ledger();
    assert.match(audited.stdout, new RegExp(`deposited_usdc_micro +${ledger.total_usdc_micro}\n`));
    const repaired = await admin('journal', 'repair');
    assert.deepEqual(
      [repaired.status, repaired.stderr],
      [1, `error: the exchange is running on ${server.dataDir}: stop it first\n`],
    );
    await assertBalanced(server);
  });

  it('exports the trades as the API tells them', async () => {
    const all = await exported();
    const told = all.filter(({ event }) => event === 'trade');
    assert.ok(told.length >= 8, 'the markets have traded');
    for (const trader of traders) {
      const { trades } = await trader.client.userTrades({ limit: 100 });
      for (const trade of trades) {
        const line = told.find(({ trade_id }) => trade_id === trade.id);
        assert.ok(line !== undefined, 'every trade is exported');
        const same = ['market_id', 'taker_order_id', 'maker_order_id', 'price', 'amount', 'taker_side'] as const;
        for (const field of same) assert.equal(line[field], trade[field], field);
        assert.equal(line.outcome_index, trade.outcome_index);
        assert.equal(line.token_quantity_atomic, trade.token_quantity_atomic);
        assert.equal(line.time, trade.matched_at);
      }
    }
  });

  it('exports every order of one market with what became of it, numbered like the public frames', async () => {
    const [market] = markets as [OrderMarket];
    const lines = await exported('--market', market.id.toUpperCase());
    assert.ok(lines.every(({ market_id }) => market_id === market.id));
    const { orders } = await traders[0].client.userOrders({ limit: 100 });
    for (const order of orders.filter(({ market_id }) => market_id === market.id)) {
      const line = lines.find(({ event, order_hash }) => event === 'order' && order_hash === order.order_hash);
      assert.deepEqual([line?.order_id, line?.side, line?.price], [order.id, order.side, order.price]);
      const end = lines.findLast(({ event, order_hash }) => order_hash === order.order_hash && event !== 'order');
      if (order.status === 'cancelled' || order.status === 'filled') assert.equal(end.event, order.status);
    }
    const frames = lines.filter(({ market_sequence }) => market_sequence !== null);
    for (const [i, { market_sequence, event }] of frames.entries()) {
      const next = frames[i + 1]?.market_sequence;
      // A trade's frame is followed by the frame of its maker's level.
      if (next !== undefined) assert.equal(next, market_sequence + (event === 'trade' ? 2 : 1));
    }
  });

  it('exports from a record on, and stops quietly when its reader has enough', async () => {
    const all = await exported();
    const later = await exported('--from', '4');
    assert.deepEqual(
      later,
      all.filter(({ shard_sequence }) => shard_sequence >= 4),
    );
    const node = `"${process.execPath}" "${STRIPPED_BEFORE.join('" "')}"`;
    const command = `${node} "${MAIN}" journal export --data "${server.dataDir}" | head -c 1`;
    const { stdout, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
    assert.equal(stdout, '{');
    assert.doesNotMatch(stderr, /EPIPE|error/);
  });

  it('finds the files of a killed server whole, with everything that it had acknowledged', async () => {
    const known = (await exported()).length;
    await server.kill();
    const files = filesOf(server.dataDir);
    assert.ok(files.has('control.db-wal'));
    assert.equal(lastLine((await admin('journal', 'verify')).stdout), 'ok');
    assert.equal(lastLine((await admin('audit')).stdout), 'balanced');
    assert.equal((await exported()).length, known);
    assert.equal(lastLine((await admin('control', 'repair')).stdout), 'control.db is whole: nothing to repair');
    assert.deepEqual(filesOf(server.dataDir), files, 'commands that check leave every file as it was');
    assert.equal((await admin('journal', 'repair')).stdout.split('\n')[0], 'nothing to repair');
  });

  it('names a damaged record, and the server starts only after its loss was accepted', async () => {
    const whole = await exported();
    const { shard } = whole.find(({ event }) => event === 'trade');
    const ofShard = (line: Json): boolean => line.shard === shard;
    const before = whole.filter(ofShard);
    const last = before.at(-1).shard_sequence;
    const record = last - 5;
    damage(join(server.dataDir, `journal-${shard}.db`), record);
    const verified = await admin('journal', 'verify');
    assert.equal(verified.status, 1);
    assert.match(verified.stdout, new RegExp(`journal-${shard}\\.db: sequence ${record}: checksum mismatch`));
    assert.match(verified.stdout, new RegExp(`journal repair --shard ${shard} --accept-loss`));
    await assert.rejects(server.start(), new RegExp(`sequence ${record}: checksum mismatch`));

    const cost = new RegExp(`6 acknowledged records are given up: ${record} to ${last}\n`);
    const refused = await admin('journal', 'repair');
    assert.equal(refused.status, 1);
    assert.match(refused.stdout, cost);
    assert.equal((await admin('journal', 'verify')).stdout, verified.stdout, 'a refused repair has changed nothing');

    const repaired = await admin('journal', 'repair', '--accept-loss');
    assert.deepEqual([repaired.status, lastLine(repaired.stdout)], [0, 'ok'], repaired.stdout + repaired.stderr);
    assert.match(repaired.stdout, cost);
    const setAside = new RegExp(`^journal-${shard}\\.db\\.damaged-[0-9TZ]+$`);
    assert.ok(readdirSync(server.dataDir).some((name) => setAside.test(name)));
    assert.deepEqual(
      (await exported()).filter(ofShard),
      before.filter(({ shard_sequence }) => shard_sequence < record),
    );

    const rebuilt = await admin('projections', 'rebuild');
    assert.equal(rebuilt.status, 0, rebuilt.stdout + rebuilt.stderr);
    assert.match(rebuilt.stdout, /with the history from the first record on/);

    await server.start();
    await assertBalanced(server);
    const [trader] = traders as [Trader];
    const { total } = await trader.reconnected().client.userTrades({ limit: 1 });
    const told = (await exported()).filter(({ event, taker_account, maker_account }) => {
      return event === 'trade' && [taker_account, maker_account].includes(FIRST_ACCOUNT);
    });
    assert.equal(total, told.length, 'read.db is what the journals still have');
  });

  it('serves without the read.db of trimmed journals, and history says when it begins', async () => {
    await server.restart({ SNAPSHOT_EVERY: '15', JOURNAL_KEEP: '0' });
    const trader = await makeTrader(server);
    const [market] = markets as [OrderMarket];
    const isTrimmed = (): boolean => listed('journal-').some((path) => firstRecord(path) > 1);
    await eventually('a journal that was trimmed', async () => {
      for (const each of markets) await trader.place(each, { price: '0.02', size: '1' });
      return isTrimmed();
    });
    const filled = await trader.place(market, { price: '0.66', size: '10' });
    const before = (await trader.client.userOrders({ status: 'open', limit: 100 })).total;
    assert.equal((await server.request('GET', '/v1/platform/config')).body.history_from, null);
    await server.stop();
    for (const path of listed('read.db')) rmSync(path);

    await server.start({ SNAPSHOT_EVERY: '1000000' });
    const again = trader.reconnected();
    // A read of an account waits two seconds for its history, and is refused as long as that is made anew.
    const { orders, total } = await eventually('the history of the account', () =>
      again.client.userOrders({ status: 'open', limit: 100 }).catch((error) => {
        assert.equal(error.code, 'ENGINE_BUSY');
        return undefined;
      }),
    );
    assert.equal(total, before);
    assert.ok(orders.every(({ status }) => ['open', 'partially_filled'].includes(status)));
    const { history_from } = (await server.request('GET', '/v1/platform/config')).body;
    assert.ok(Date.parse(history_from) <= Date.now(), history_from);
    assert.equal((await server.request('GET', '/v1/markets?limit=10')).status, 200);
    await again.client.cancelOrder(filled.order_hash);
    const { status } = (await again.send('GET', `/v1/orders/${filled.order_hash}`)).body;
    assert.equal(status, 'cancelled');
    await assertBalanced(server);
  });

  it('explains itself to whoever gives a wrong command', async () => {
    for (const args of [[], ['journal'], ['audit', '--shard', '0'], ['journal', 'export', '--from', 'x'], ['--what']]) {
      const { status, stdout, stderr } = await admin(...args);
      assert.equal(status, 64, args.join(' '));
      assert.equal(stdout, '');
      assert.match(stderr, /^error: .+\n\nUsage:\n/);
    }
    const asProcess = spawnSync(process.execPath, [...STRIPPED_BEFORE, MAIN, 'journal'], { encoding: 'utf8' });
    assert.deepEqual([asProcess.status, asProcess.stdout], [64, '']);
    const missing = await admin('audit', '--data', join(server.dataDir, 'nowhere'));
    assert.deepEqual([missing.status, missing.stderr.split('\n').length], [1, 2]);
  });
});

/** The files of the data directory whose names begin so, without the parts of SQLite. */
function listed(start: string): string[] {
  return readdirSync(server.dataDir)
    .filter((name) => name.startsWith(start) && /\.db(-wal|-shm)?$/.test(name))
    .filter((name) => start === 'read.db' || name.endsWith('.db'))
    .map((name) => join(server.dataDir, name));
}

/** Flips a bit of a record inside the database, as SQLite itself would not notice. */
function damage(path: string, sequence: number): void {
  const db = new Database(path);
  const bytes = db.prepare<[number], Buffer>('SELECT bytes FROM journal WHERE sequence = ?').pluck().get(sequence)!;
  bytes[60] ^= 4;
  db.prepare('UPDATE journal SET bytes = ? WHERE sequence = ?').run(bytes, sequence);
  db.close();
}
