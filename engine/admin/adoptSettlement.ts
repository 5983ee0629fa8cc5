/**
 * `admin chain adopt`: brings a settlement.db that is older than its journals up to date (RULES.md 17.2). Trades and
 * most movements need nothing, because the contract carries each out once. The journals do not show which withdrawals
 * the chain made first, and which end in the unheld escrow: control.db names the former, and the chain knows the
 * latter. Movements that only the chain has, after a restore to an earlier time, are taken over (takeOver.ts).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { encodeFunctionData } from 'viem';
import { unreachable } from '../../shared/base/assert.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { FLOORS, type Floors, readFloors } from '../../shared/base/floors.ts';
import { tryParseHex } from '../../shared/base/hex.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { RESTORED, readRestored } from '../../shared/base/restored.ts';
import { SETTLEMENT_REMEDY } from '../../shared/base/settlementRemedy.ts';
import { chainTradeId, placeOfTrade } from '../../shared/chain/batch.ts';
import { lastSettledBlock } from '../../shared/chain/depth.ts';
import { EXCHANGE_ABI } from '../../shared/chain/exchangeAbi.ts';
import { ChainNode, type Hex } from '../../shared/chain/node.ts';
import { nodeUrls, openNodes } from '../../shared/chain/nodes.ts';
import { NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import { ANY_EVENT, EVENT, typeOf } from '../../shared/wire/events.ts';
import { hexAt, readSafe } from '../../shared/wire/record.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalHead } from '../journal/row.ts';
import { ChainMoney } from '../settlement/chainMoney.ts';
import { operationId } from '../settlement/drafts.ts';
import { addMoneyTables } from '../settlement/moneyTables.ts';
import { News } from '../settlement/news.ts';
import { openSettlementDb } from '../settlement/settlementDb.ts';
import { KIND, type Work, WorkRows } from '../settlement/work.ts';
import { checkDatabases } from './databases.ts';
import { AdminError, listShards, type ShardFile, withExclusiveDirectory } from './directory.ts';
import { type KnownWork, onlyOnChain, type TakenEvent } from './takeOver.ts';

/** A movement of the journals that settlement.db has not followed. */
type Moved = {
  readonly shard: number;
  readonly sequence: number;
  readonly part: number;
  readonly movement: number;
  readonly reference: string;
};
/** The part of the journals that settlement.db has not followed. */
type Later = {
  readonly moved: Moved[];
  /** By their ids on the chain. */
  readonly trades: Set<bigint>;
  /** The contracts that orders are or were signed for. */
  readonly exchanges: Set<Hex>;
};
/** The kinds of work that a movement may be on the chain. */
const KINDS = new Map<number, readonly Work['kind'][]>([
  [MOVEMENT.SPLIT, [KIND.SPLIT]],
  [MOVEMENT.MERGE, [KIND.MERGE]],
  [MOVEMENT.WITHDRAWAL, [KIND.WITHDRAWAL, KIND.RELEASE]],
]);
const OPERATIONS = [KIND.SPLIT, KIND.MERGE, KIND.WITHDRAWAL, KIND.RELEASE];
const MARK = 'settlement_mark';
const WORD_TRUE = `0x${'1'.padStart(64, '0')}`;

export async function adoptSettlement(directory: string, rpcUrl: string): Promise<readonly string[]> {
  const path = join(directory, 'settlement.db');
  const damage = checkDatabases(directory).find(({ name }) => name === 'settlement.db')?.problem ?? null;
  if (damage !== null) throw new AdminError(damage);
  if (!existsSync(path)) throw new AdminError(`${path} is missing: ${SETTLEMENT_REMEDY}`);
  if (isOfCluster(path)) throw new AdminError(`${path}: a member of a cluster gets missing records from the log`);
  if (!nodeUrls(rpcUrl).every((url) => URL.canParse(url)))
    throw new AdminError('RPC_URL: set it to a node of the chain');
  return withExclusiveDirectory(directory, async (control) => {
    if (control === null) throw new AdminError(`${directory}: control.db is missing: put it back`);
    const db = openSettlementDb(path);
    try {
      addMoneyTables(db);
      return await adopt(db, control, await listShards(directory), new ChainNode(openNodes(rpcUrl)));
    } catch (error) {
      if (!(error instanceof NodeUnreachable || error instanceof RpcError)) throw error;
      throw new AdminError(`the node of RPC_URL: ${error.message}`);
    } finally {
      db.close();
    }
  });
}

function isOfCluster(path: string): boolean {
  const db = openDatabase(path, { readonly: true });
  try {
    return db.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'record_end'`).get() !== undefined;
  } finally {
    db.close();
  }
}

async function adopt(
  db: Database.Database,
  control: Database.Database,
  files: readonly ShardFile[],
  node: ChainNode,
): Promise<readonly string[]> {
  const later: Later = {
    moved: [],
    trades: new Set(),
    exchanges: new Set(db.prepare<[], Hex>('SELECT exchange FROM exchanges').pluck().all()),
  };
  for (const file of files) readLater(db, file, later);
  const { exchanges } = later;
  const moved = later.moved.filter(({ movement }) => movement === MOVEMENT.DEPOSIT || isWithdrawal(movement));
  const named = control
    .prepare<[Uint8Array], string>('SELECT reference FROM movements WHERE reference_hash = ?')
    .pluck();
  const isOfChain = ({ reference }: Moved): boolean => named.get(bytesOf(reference))?.startsWith('chain:') === true;
  const ofChain = moved.filter(isOfChain);
  const released: Moved[] = [];
  const textOf = control.prepare<[string], string>('SELECT value FROM platform WHERE key = ?').pluck();
  const floors = readFloors(textOf.get(FLOORS));
  for (const each of moved) {
    if (isWithdrawal(each.movement) && !isOfChain(each) && (await isReleased(each, exchanges, node, floors)))
      released.push(each);
  }
  const mark = Number(textOf.get(MARK) ?? 0);
  const heads = await headsOf(node);
  const found = await onlyOnChain(db, control, node, knownWork(db, later, floors), heads);
  if (found.early > 0) {
    throw new AdminError(
      `the chain has ${found.early} trades and movements that the journals lack, in blocks that it may still take ` +
        `back: repeat this once block ${heads.head} is final`,
    );
  }
  db.transaction(() => {
    takeOver(db, found.events);
    for (const { reference, movement } of ofChain) {
      db.prepare('INSERT OR IGNORE INTO ahead VALUES (?)').run(reference);
      if (isWithdrawal(movement)) db.prepare('INSERT OR IGNORE INTO mirrored VALUES (?)').run(reference);
    }
    for (const { reference } of released) db.prepare('INSERT OR IGNORE INTO releases VALUES (?)').run(reference);
    db.prepare('UPDATE marks SET number = max(number, ?) WHERE id = 1').run(mark);
  }).immediate();
  const isRestored = noteChainSeen(control);
  return [
    `${moved.length} deposits and withdrawals of the journals that settlement.db did not have`,
    `${ofChain.length} of them the chain had made first, ${released.length} are in the unheld escrow of their wallets`,
    ...takenLines(found.events),
    ...found.unclear.map((line) => `NOT TAKEN OVER: ${line}`),
    'start the exchange, and compare everything once it has settled: npm run admin -- chain reconcile',
    ...(isRestored ? ['it starts paused: resume it only when nothing differs'] : []),
  ];
}

/** @returns true if the directory came from a backup and may now start */
function noteChainSeen(control: Database.Database): boolean {
  const text = control.prepare<[string], string>('SELECT value FROM platform WHERE key = ?').pluck().get(RESTORED);
  const restored = readRestored(text);
  if (restored === null) return false;
  const seen = JSON.stringify({ ...restored, isChainAhead: false });
  control.prepare('UPDATE platform SET value = ? WHERE key = ?').run(seen, RESTORED);
  return true;
}

function isWithdrawal(movement: number): boolean {
  return movement === MOVEMENT.WITHDRAWAL;
}

async function headsOf(node: ChainNode): Promise<{ readonly final: number; readonly head: number }> {
  const [head, finalized] = [await node.block('latest'), await node.block('finalized')];
  if (head === null || finalized === null) throw new NodeUnreachable('it has no blocks');
  return { final: lastSettledBlock({ head, finalized }), head: head.number };
}

/** TAKEOVER-1 */
function knownWork(db: Database.Database, { moved, trades }: Later, floors: Floors): KnownWork {
  const trade = db.prepare<[number, number]>(
    `SELECT 1 FROM work WHERE shard = ? AND kind = ${KIND.TRADE} AND sequence = ? AND part = 0`,
  );
  const operations = new Set<Hex>();
  const sql = `SELECT kind, shard, sequence, part FROM work WHERE kind IN (${OPERATIONS.join()})`;
  type Operation = Pick<Work, 'kind' | 'shard' | 'sequence' | 'part'>;
  for (const work of db.prepare<[], Operation>(sql).iterate()) operations.add(operationId(work, floors));
  for (const each of moved) {
    for (const kind of KINDS.get(each.movement) ?? []) operations.add(operationId({ ...each, kind }, floors));
  }
  return {
    hasTrade: (tradeId) => {
      const { shard, tradeSequence } = placeOfTrade(tradeId);
      return trades.has(tradeId) || trade.get(shard, tradeSequence) !== undefined;
    },
    hasOperation: (id) => operations.has(id),
  };
}

/** The gateway will be asked to enter them in the ledger at the next start. */
function takeOver(db: Database.Database, events: readonly TakenEvent[]): void {
  const nowMs = (): number => systemClock.nowMs();
  const rotation = { bring: notAsked, numberOfSets: notAsked };
  const [work, news] = [new WorkRows(db, nowMs), new News(db, nowMs)];
  const money = new ChainMoney({ db, work, news, rotation, markets: { withCondition: notAsked } as never, nowMs });
  for (const { exchange, log, taken, ...of } of events) money.takeOver(exchange, log, of, taken);
}

function notAsked(): never {
  return unreachable('adopt: what is taken over is of no condition');
}

function takenLines(events: readonly TakenEvent[]): string[] {
  if (events.length === 0) return [];
  const count = (is: (event: TakenEvent) => boolean): number => events.filter(is).length;
  const trades = count(({ taken }) => taken !== null && taken.tradeSequence > 0);
  const sets = count(({ taken }) => taken?.tradeSequence === 0);
  const paid = count(({ taken }) => taken === null);
  return [
    `${trades} trades, ${sets} splits and merges and ${paid} withdrawals that only the chain has: the ledger takes ` +
      'them over at the next start, and open orders of their accounts are cancelled',
  ];
}

/**
 * Adds the records of a shard's journal after the last one that settlement.db has followed. Markets are written at
 * once, as the follower will, because the chain's trades may belong to one of them.
 */
function readLater(db: Database.Database, { shard, journalPath, key }: ShardFile, later: Later): void {
  type Followed = { readonly sequence: number; readonly chain_low: number; readonly chain_high: number };
  const at = db.prepare<[number], Followed>('SELECT * FROM followed WHERE shard = ?').get(shard);
  const head = new JournalHead(at?.sequence ?? 0, at?.chain_low ?? 0, at?.chain_high ?? 0);
  const reader = new JournalReader(journalPath, key);
  const rows = new WorkRows(db, () => systemClock.nowMs());
  try {
    if (!reader.continues(head))
      throw new AdminError(
        `${journalPath} does not go on after record ${head.sequence} of settlement.db: ${SETTLEMENT_REMEDY}`,
      );
    reader.readFrom(head, Number.MAX_SAFE_INTEGER, ({ sequence, events: { words, word: first, end } }) => {
      let part = 0;
      for (let word = first; word < end; word += words[word] >>> 2) {
        part++;
        const type = typeOf(words[word + ANY_EVENT.type]);
        if (type === EVENT.CONTRACTS.TYPE) later.exchanges.add(hexAt(words, word + EVENT.CONTRACTS.exchange, 20));
        if (type === EVENT.FILL.TYPE) {
          later.trades.add(chainTradeId(shard, readSafe(words, word + EVENT.FILL.tradeSequence)));
        }
        if (type === EVENT.MARKET.TYPE) {
          const uuid = hexAt(words, word + EVENT.MARKET.uuid, 16);
          rows.setMarket(words[word + ANY_EVENT.market], uuid, words[word + EVENT.MARKET.ticksPerUnit]);
        }
        if (type !== EVENT.FUNDS.TYPE) continue;
        const reference = hexAt(words, word + EVENT.FUNDS.reference, 32);
        later.moved.push({ shard, sequence, part, movement: words[word + EVENT.FUNDS.movement], reference });
      }
    });
  } finally {
    reader.close();
  }
}

async function isReleased(
  moved: Moved,
  exchanges: ReadonlySet<Hex>,
  node: ChainNode,
  floors: Floors,
): Promise<boolean> {
  const args = [operationId({ ...moved, kind: KIND.RELEASE }, floors)] as const;
  const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'operationDone', args });
  for (const exchange of exchanges) if ((await node.view(exchange, data, 'latest')) === WORD_TRUE) return true;
  return false;
}

function bytesOf(hex: string): Uint8Array {
  const bytes = new Uint8Array(32);
  tryParseHex(hex, 32, bytes, 0);
  return bytes;
}
