/**
 * Directories for the battery of damages: one of an exchange that was killed after trades, cancels, withdrawals, keys
 * and restarts, so that every file and every write-ahead log has content; the same at an earlier time; and one of
 * another exchange. All belong to a user without rights, as in production.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { OrderMarket } from '../../../shared/client/order.ts';
import { IN_FILE } from '../../../shared/crypto/masterKey.ts';
import { temporaryDirectory } from '../directory.ts';
import { eventually } from '../eventually.ts';
import { type Scope, TestServer } from '../server.ts';
import { makeMarket, makeTrader, type Trader } from '../traders.ts';
import { AS_NOBODY, NOBODY } from './nobody.ts';
import { framesOf } from './places.ts';
import { fillRamp } from './rampWorld.ts';
import { readable } from './readable.ts';

/** With the usual settings no snapshot is due while trading, so its moment would be random. */
const SNAPSHOT_OF_EACH_ROW = { SNAPSHOT_EVERY: '1' };
const ROUNDS = 60;
/** Records whose private frames the read model may still have. */
const MOST_KEPT = 4;
/** So many accounts that the oldest ones have a page of their own. */
const ACCOUNTS = 80;

export type World = {
  /** Settings of its exchange that are not the usual ones. */
  readonly settings: Readonly<Record<string, string>>;
  readonly whole: string;
  readonly earlier: string;
  readonly other: string;
  /** Balances and orders as its accounts are told them when nothing is damaged. */
  readonly told: string;
  readonly traders: readonly Trader[];
  readonly market: OrderMarket;
  /** Frames of the write-ahead log of control.db when its last account was made: no account comes behind them. */
  readonly framesBefore: number;
  /** Rows that any start writes anew. */
  readonly changing: ReadonlySet<string>;
  /** The program that reads the file, where that is not the exchange. */
  readonly start?: (directory: string, world: World) => Promise<{ readonly code: number; readonly text: string }>;
  /** Lines that a start prints where nothing is damaged too, if it goes on for long enough. */
  readonly ofAnyStart?: RegExp;
  /** Only for the member of a cluster. */
  readonly awaitLead?: (server: TestServer) => Promise<unknown>;
};

export function startAsNobody(server: TestServer, environment: Readonly<Record<string, string>> = {}): Promise<void> {
  return server.start({ MASTER_KEY: IN_FILE, ...environment }, AS_NOBODY);
}

/** The files of a directory as they are, with their owner. @returns the new directory */
export function copyOf(directory: string): string {
  const copy = join(temporaryDirectory(), 'live');
  execFileSync('cp', ['-a', directory, copy]);
  chownSync(join(copy, '..'), NOBODY, NOBODY);
  return copy;
}

/** Balances and open orders of the accounts, as they are told. */
export async function toldBy(
  server: TestServer,
  { traders, market }: Pick<World, 'traders' | 'market'>,
): Promise<string> {
  const told: unknown[] = [];
  for (const trader of traders) {
    const { client } = trader.on(server);
    told.push(await client.balances(), await client.openOrders(market.id));
  }
  return JSON.stringify(told);
}

async function trade(market: OrderMarket, [alice, bob]: readonly Trader[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await alice!.place(market, { price: '0.55', size: '3' });
    await bob!.place(market, { price: '0.46', size: '2', outcomeIndex: 1 });
  }
  const { order_hash } = await alice!.place(market, { price: '0.21', size: '4' });
  await alice!.client.cancelOrder(order_hash);
  const body = alice!.body(market, { price: '0.22', size: '4' });
  await alice!.client.placeOrder(body, { idempotencyKey: randomUUID() });
  await bob!.client.split(market.id, 3_000_000);
  await bob!.place(market, { side: 'SELL', price: '0.93', size: '2' });
}

/** Everything goes into the files themselves: damage to a page that is in the log as well would hurt nothing. */
export function emptyLogs(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (!name.endsWith('.db-wal')) continue;
    const db = new Database(join(directory, name.slice(0, -'-wal'.length)));
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
  }
}

/** Reads the file, or the file with the log beside it. */
function movementsIn(control: string, withLog: boolean): number {
  const directory = temporaryDirectory();
  for (const end of withLog ? ['', '-wal'] : ['']) cpSync(control + end, join(directory, `control.db${end}`));
  const db = new Database(join(directory, 'control.db'));
  try {
    return db.prepare<[], number>('SELECT count(*) FROM movements').pluck().get()!;
  } finally {
    db.close();
  }
}

/**
 * For a running exchange: kills it, then ends it with a snapshot of its end, so that everything is in the files. The
 * snapshot is awaited while the exchange runs: a stop waits for one only so long, and beside busy neighbours a thread
 * that steps back for others has not even begun by then.
 */
async function endWithSnapshot(server: TestServer): Promise<void> {
  const before = snapshotsIn(server.dataDir);
  await server.kill();
  await startAsNobody(server, SNAPSHOT_OF_EACH_ROW);
  await eventually('a snapshot', async () => snapshotsIn(server.dataDir) > before);
  await server.stop();
  emptyLogs(server.dataDir);
}

function snapshotsIn(directory: string): number {
  return readdirSync(directory).filter((name) => /^snapshot-0-\d+\.bin$/.test(name)).length;
}

/** True if the read model has left the private frames of all but the newest records to their log. */
function hasLeftFrames(directory: string): boolean {
  const db = new Database(join(directory, 'read.db'), { readonly: true });
  try {
    const kept = db
      .prepare<[], number>('SELECT sequence - shard_sequence FROM cursors JOIN private_tail_starts USING (shard)')
      .pluck()
      .get();
    return kept !== undefined && kept <= MOST_KEPT;
  } finally {
    db.close();
  }
}

export async function newExchange(environment: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  const directory = join(temporaryDirectory(), 'live');
  execFileSync('install', ['-d', '-o', String(NOBODY), '-g', String(NOBODY), '-m', '700', directory]);
  execFileSync('chown', [`${NOBODY}:${NOBODY}`, join(directory, '..')]);
  const server = new TestServer(directory, '1');
  await startAsNobody(server, environment);
  return server;
}

async function makeOther(): Promise<string> {
  const server = await newExchange();
  const market = await makeMarket(server);
  await trade(market, [await makeTrader(server), await makeTrader(server)], 20);
  await endWithSnapshot(server);
  await startAsNobody(server);
  await server.kill();
  return copyOf(server.dataDir);
}

/** A start keeps the sources without types: the other user may not write them. */
export async function keepSources(settings: Readonly<Record<string, string>> = {}): Promise<void> {
  const first = new TestServer(temporaryDirectory(), '1');
  await first.start(settings);
  await first.kill();
}

export async function makeWorld(scope: Scope): Promise<World> {
  await keepSources();
  const server = await newExchange();
  scope.after(() => server.kill());
  const market = await makeMarket(server);
  const traders = [await makeTrader(server), await makeTrader(server)];
  for (let account = 0; account < ACCOUNTS; account++) await server.admin.createUser({});
  await trade(market, traders, ROUNDS);
  await server.admin.withdraw(traders[0]!.userId, { amount_usdc_micro: '2000000' });
  await endWithSnapshot(server);
  const earlier = copyOf(server.dataDir);
  // The files themselves go on, too, and not only their write-ahead logs.
  for (const round of [1, 2]) {
    await startAsNobody(server);
    const later = traders.map((trader) => trader.on(server));
    await trade(market, later, ROUNDS / 3);
    await makeTrader(server);
    if (round === 1) await endWithSnapshot(server);
  }
  const control = join(server.dataDir, 'control.db');
  const withdrawAndDie = async (): Promise<Pick<World, 'framesBefore' | 'told'>> => {
    const framesBefore = framesOf(`${control}-wal`);
    // Each record lets the read model go on. Frames that it still had would not be lost with their log.
    await eventually('private frames are in their log alone', async () => {
      await server.admin.withdraw(traders[1]!.userId, { amount_usdc_micro: '1000000' });
      return hasLeftFrames(server.dataDir);
    });
    const told = await toldBy(server, { traders, market });
    await server.kill();
    return { framesBefore, told };
  };
  let newest = await withdrawAndDie();
  // Now and then the exchange copies its log into the file, and then a damaged log costs nothing.
  while (movementsIn(control, false) === movementsIn(control, true)) {
    await startAsNobody(server);
    newest = await withdrawAndDie();
  }
  const whole = copyOf(server.dataDir);
  await startAsNobody(server);
  await server.kill();
  const later = readable(server.dataDir);
  const changing = new Set([...readable(whole)].filter((row) => !later.has(row)));
  const other = await makeOther();
  fillRamp(earlier, { deals: 40 });
  fillRamp(whole, { deals: 60 });
  fillRamp(other, { deals: 20, isOther: true });
  return { settings: {}, whole, earlier, other, ...newest, traders, market, changing };
}
