/**
 * A directory of an exchange with very many accounts, made without HTTP: a server opens a market and a trader, then the
 * rows of control.db come from SQL, and deposits and orders from an engine with the journal of the shard. Signatures
 * are not checked in it.
 */
import { join } from 'node:path';
import { Engine } from '../engine/core/engine.ts';
import { Journal } from '../engine/journal/journal.ts';
import { ShardKey } from '../engine/journal/shardKey.ts';
import { recover } from '../engine/shard/recovery.ts';
import { saveSnapshot } from '../engine/snapshot/snapshot.ts';
import { openControlDatabase } from '../gateway/base/database.ts';
import { assert } from '../shared/base/assert.ts';
import { MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/base/codes.ts';
import { keepRowSums, makeRowSums } from '../shared/base/rowSums.ts';
import { readJournalKey } from '../shared/crypto/journalKeyFile.ts';
import { MASTER_KEY_FILE, readMasterKey } from '../shared/crypto/masterKey.ts';
import { Balances, createBalances } from '../shared/wire/balances.ts';
import {
  ANY_COMMAND,
  COMMAND,
  COMMAND_BYTES,
  COMMAND_VERSION,
  type CommandType,
  NO_MARKET,
  PLACE_BIT_AUTHORIZED,
  packKind,
} from '../shared/wire/commands.ts';
import { RecordBuffer, writeSafe } from '../shared/wire/record.ts';
import { GIVEN } from './matchingEngine.ts';

const BATCH = 256;
const DEPOSIT_MICRO = 100_000_000;
const LOTS = 10_000;
const TICKS_PER_UNIT = 100;

/** The account with many orders, which a server has made. */
const TRADER = 1;

export type Made = { readonly accounts: number; readonly withOrder: number; readonly ofTrader: number };

/** Adds accounts up to `accounts`, each with a wallet. The program that calls this has stopped the server. */
export function makeAccounts(directory: string, { accounts }: Made): void {
  const database = openControlDatabase(join(directory, 'control.db'));
  try {
    database.pragma('cache_size = -500000');
    database.pragma('synchronous = OFF');
    // Sums row by row take longer than all at the end.
    for (const { name } of database
      .prepare<[], { name: string }>("SELECT name FROM sqlite_temp_schema WHERE type = 'trigger'")
      .all())
      database.exec(`DROP TRIGGER temp.${name}`);
    const first = database.prepare<[], number>('SELECT max(account_index) + 1 FROM users').pluck().get()!;
    const rows = `WITH RECURSIVE each (n) AS (SELECT ${first} UNION ALL SELECT n + 1 FROM each WHERE n < ${accounts})`;
    // The numbers of addresses are spread, so that indexes are filled in the order in which people come.
    const address = "'0x' || printf('%08x', (n * 2654435761) % 4294967296) || printf('%032x', n)";
    database.transaction(() => {
      database.exec(`
        INSERT INTO users (account_index, id, role, referral_code, created_ms) ${rows}
          SELECT n, printf('%08x-0000-4000-8000-%012x', (n * 2654435761) % 4294967296, n), 'user',
                 printf('X%09d', n), 0 FROM each;
        INSERT INTO wallets (address, account_index) ${rows} SELECT ${address}, n FROM each;
        INSERT INTO grants (maker, signer) SELECT address, address FROM wallets WHERE account_index >= ${first};`);
      makeRowSums(database, Number(database.pragma('user_version', { simple: true })));
    })();
    keepRowSums(database);
  } finally {
    database.close();
  }
}

/** @returns the seconds that the snapshot took, and its bytes */
export async function makeBalances(directory: string, made: Made): Promise<string> {
  const masterKey = readMasterKey(join(directory, MASTER_KEY_FILE));
  assert(masterKey !== null, 'accounts: the key is in its file');
  const key = await ShardKey.create(readJournalKey(directory, masterKey), 0);
  const journalPath = join(directory, 'journal-0.db');
  const journal = Journal.open({ journalPath, journalSync: 'normal', shard: 0, shards: 1, key });
  try {
    const balances = new Balances(createBalances());
    const make = (): Engine => new Engine({ balances, collateralCheck: true, checks: GIVEN, journal });
    const { engine } = recover(journal, directory, 0, make);
    engine.goLive();
    submitAll(engine, journal, made);
    assert(engine.state.orders.openCount === made.withOrder + made.ofTrader, 'accounts: every order rests');
    const { path } = saveSnapshot(directory, 0, { state: engine.state, nowMs: engine.nowMs, head: journal.head }, key);
    return path;
  } finally {
    journal.close();
  }
}

function submitAll(engine: Engine, journal: Journal, { accounts, withOrder, ofTrader }: Made): void {
  const command = new RecordBuffer(1024);
  const nowMs = Date.now();
  let waiting = 0;
  const submit = (
    type: CommandType,
    account: number,
    market: number,
    flags: number,
    body: (words: Uint32Array) => void,
  ): void => {
    command.clear();
    command.append(COMMAND_BYTES[type], type | (COMMAND_VERSION << 16));
    const { words } = command;
    words.fill(0, 2, COMMAND_BYTES[type] >>> 2);
    words[ANY_COMMAND.account] = account;
    writeSafe(words, ANY_COMMAND.timeMs, nowMs);
    words[ANY_COMMAND.market] = market;
    words[ANY_COMMAND.flags] = flags;
    body(words);
    engine.submit(words, command.bytes, 0);
    if (++waiting % BATCH === 0) endBatch(engine, journal);
  };
  for (let account = TRADER; account <= accounts; account++) {
    submit(COMMAND.FUNDS.TYPE, account, NO_MARKET, MOVEMENT.DEPOSIT, (words) => {
      writeSafe(words, COMMAND.FUNDS.amountMicro, account === TRADER ? 1e12 : DEPOSIT_MICRO);
      for (let i = 0; i < 4; i++) words[COMMAND.FUNDS.reference + i] = Math.imul(account + 1, 0x9e3779b1 + 2 * i);
    });
  }
  const kind = packKind(SIDE.BUY, OUTCOME.YES, TIME_IN_FORCE.GTC, PLACE_BIT_AUTHORIZED);
  for (let index = 0; index < withOrder + ofTrader; index++) {
    const account = index < ofTrader ? TRADER : TRADER + 1 + index - ofTrader;
    submit(COMMAND.PLACE.TYPE, account, 0, 0, (words) => {
      for (let i = 0; i < 4; i++)
        words[COMMAND.PLACE.hash + i] = Math.imul(index + 1, 0x85ebca6b + 2 * i) ^ (index >>> i);
      words[COMMAND.PLACE.kind] = kind;
      writeSafe(words, COMMAND.PLACE.makerAmount, LOTS * (1 + (index % 49)));
      writeSafe(words, COMMAND.PLACE.takerAmount, LOTS * TICKS_PER_UNIT);
      words[COMMAND.PLACE.feeBps] = 50;
    });
  }
  endBatch(engine, journal);
}

function endBatch(engine: Engine, journal: Journal): void {
  journal.commit();
  engine.state.ledger.releaseCredits();
  engine.out.clear();
}
