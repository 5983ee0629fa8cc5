/**
 * `admin chain adopt`: brings a settlement.db that is older than its journals up to them (RULES.md 17.2). Trades and
 * most movements need nothing, because the contract carries each out once. The journals do not say which withdrawals
 * the chain had made first, and which were to end in the unheld escrow: the first are named in control.db, and the
 * chain knows the others.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { encodeFunctionData } from 'viem';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { FLOORS, type Floors, readFloors } from '../../shared/base/floors.ts';
import { toHex, tryParseHex } from '../../shared/base/hex.ts';
import { RESTORED, readRestored } from '../../shared/base/restored.ts';
import { EXCHANGE_ABI } from '../../shared/chain/exchangeAbi.ts';
import { ChainNode, type Hex } from '../../shared/chain/node.ts';
import { HttpRpc, NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import { ANY_EVENT, EVENT, typeOf } from '../../shared/wire/events.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalHead } from '../journal/row.ts';
import { operationId } from '../settlement/drafts.ts';
import { addMoneyTables } from '../settlement/moneyTables.ts';
import { openSettlementDb } from '../settlement/settlementDb.ts';
import { KIND } from '../settlement/work.ts';
import { AdminError, listShards, type ShardFile, withExclusiveDirectory } from './directory.ts';

/** A deposit or a withdrawal that settlement.db has not followed. */
type Moved = {
  readonly shard: number;
  readonly sequence: number;
  readonly part: number;
  readonly isWithdrawal: boolean;
  readonly reference: string;
};
const MARK = 'settlement_mark';
const WORD_TRUE = `0x${'1'.padStart(64, '0')}`;

export async function adoptSettlement(directory: string, rpcUrl: string): Promise<readonly string[]> {
  const path = join(directory, 'settlement.db');
  if (!existsSync(path)) throw new AdminError(`${path} does not exist: an empty one cannot be brought up to journals`);
  if (isOfCluster(path)) throw new AdminError(`${path}: a member of a cluster gets what it lacks from the log`);
  if (!URL.canParse(rpcUrl)) throw new AdminError('RPC_URL: set it, the chain is asked there');
  return withExclusiveDirectory(directory, async (control) => {
    if (control === null) throw new AdminError(`${directory}: control.db is missing: put it back`);
    const db = openSettlementDb(path);
    try {
      addMoneyTables(db);
      return await adopt(db, control, await listShards(directory), new ChainNode(new HttpRpc(rpcUrl)));
    } catch (error) {
      if (!(error instanceof NodeUnreachable || error instanceof RpcError)) throw error;
      throw new AdminError(`the node of RPC_URL: ${error.message}`);
    } finally {
      db.close();
    }
  });
}

function isOfCluster(path: string): boolean {
  const db = new Database(path, { readonly: true });
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
  const exchanges = new Set(db.prepare<[], Hex>('SELECT exchange FROM exchanges').pluck().all());
  const moved = files.flatMap((file) => movedAfter(db, file, exchanges));
  const named = control
    .prepare<[Uint8Array], string>('SELECT reference FROM movements WHERE reference_hash = ?')
    .pluck();
  const isOfChain = ({ reference }: Moved): boolean => named.get(bytesOf(reference))?.startsWith('chain:') === true;
  const ofChain = moved.filter(isOfChain);
  const released: Moved[] = [];
  const textOf = control.prepare<[string], string>('SELECT value FROM platform WHERE key = ?').pluck();
  const floors = readFloors(textOf.get(FLOORS));
  for (const each of moved) {
    if (each.isWithdrawal && !isOfChain(each) && (await isReleased(each, exchanges, node, floors))) released.push(each);
  }
  const mark = Number(textOf.get(MARK) ?? 0);
  db.transaction(() => {
    for (const { reference, isWithdrawal } of ofChain) {
      db.prepare('INSERT OR IGNORE INTO ahead VALUES (?)').run(reference);
      if (isWithdrawal) db.prepare('INSERT OR IGNORE INTO mirrored VALUES (?)').run(reference);
    }
    for (const { reference } of released) db.prepare('INSERT OR IGNORE INTO releases VALUES (?)').run(reference);
    db.prepare('UPDATE marks SET number = max(number, ?) WHERE id = 1').run(mark);
  }).immediate();
  const isRestored = noteChainSeen(control);
  return [
    `${moved.length} deposits and withdrawals of the journals that settlement.db did not have`,
    `${ofChain.length} of them the chain had made first, ${released.length} are in the unheld escrow of their wallets`,
    'start the exchange, and compare everything once it has settled: npm run admin -- chain reconcile',
    ...(isRestored
      ? ['it starts paused: resume it only when nothing differs, since the chain may have paid more']
      : []),
  ];
}

/** @returns whether the directory came from a backup, and may now start. */
function noteChainSeen(control: Database.Database): boolean {
  const text = control.prepare<[string], string>('SELECT value FROM platform WHERE key = ?').pluck().get(RESTORED);
  const restored = readRestored(text);
  if (restored === null) return false;
  const seen = JSON.stringify({ ...restored, isChainAhead: false });
  control.prepare('UPDATE platform SET value = ? WHERE key = ?').run(seen, RESTORED);
  return true;
}

/** Adds the contracts that orders were signed for since. */
function movedAfter(db: Database.Database, { shard, journalPath, key }: ShardFile, exchanges: Set<Hex>): Moved[] {
  type Followed = { readonly sequence: number; readonly chain_low: number; readonly chain_high: number };
  const at = db.prepare<[number], Followed>('SELECT * FROM followed WHERE shard = ?').get(shard);
  const head = new JournalHead(at?.sequence ?? 0, at?.chain_low ?? 0, at?.chain_high ?? 0);
  const reader = new JournalReader(journalPath, key);
  const found: Moved[] = [];
  try {
    if (!reader.continues(head)) throw new AdminError(`${journalPath} does not go on after record ${head.sequence}`);
    reader.readFrom(head, Number.MAX_SAFE_INTEGER, ({ sequence, events: { words, word: first, end } }) => {
      let part = 0;
      for (let word = first; word < end; word += words[word]! >>> 2) {
        part++;
        const type = typeOf(words[word + ANY_EVENT.type]!);
        if (type === EVENT.CONTRACTS.TYPE) exchanges.add(hexAt(words, word + EVENT.CONTRACTS.exchange, 20));
        if (type !== EVENT.FUNDS.TYPE) continue;
        const movement = words[word + EVENT.FUNDS.movement];
        const isWithdrawal = movement === MOVEMENT.WITHDRAWAL;
        const reference = hexAt(words, word + EVENT.FUNDS.reference, 32);
        if (isWithdrawal || movement === MOVEMENT.DEPOSIT)
          found.push({ shard, sequence, part, isWithdrawal, reference });
      }
    });
  } finally {
    reader.close();
  }
  return found;
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

function hexAt(words: Uint32Array, word: number, bytes: number): Hex {
  return toHex(new Uint8Array(words.buffer, words.byteOffset + word * 4, bytes)) as Hex;
}

function bytesOf(hex: string): Uint8Array {
  const bytes = new Uint8Array(32);
  tryParseHex(hex, 32, bytes, 0);
  return bytes;
}
