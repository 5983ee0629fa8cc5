import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import type { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { Projector } from '../../../../engine/projector/projector.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { Views } from '../../../../gateway/shardlink/views.ts';
import { PrivateFeed } from '../../../../gateway/stream/privateFeed.ts';
import { PrivateIntake } from '../../../../gateway/stream/privateIntake.ts';
import { type PrivateLog, REPLAY_PRIVATE } from '../../../../gateway/stream/privateLog.ts';
import { PrivateReplay } from '../../../../gateway/stream/privateReplay.ts';
import { type PrivateTailPage, PrivateTailQueries } from '../../../../gateway/stream/privateTailQueries.ts';
import { MAX_ORDER_AMOUNT } from '../../../../shared/base/codes.ts';
import { HASH_WORDS } from '../../../../shared/base/openOrderIndex.ts';
import { NO_GROUP } from '../../../../shared/wire/commands.ts';
import { ANY_EVENT, EVENT, EVENT_VERSION, type EventType, typeOf } from '../../../../shared/wire/events.ts';
import { clientIdOf, PRIVATE_FRAME } from '../../../../shared/wire/privateRecord.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { writeSafe } from '../../../../shared/wire/record.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { openLog } from '../../../support/privateFrames.ts';
import { seedOr } from '../../../support/seeds.ts';

const SEED = seedOr(11);
const ACCOUNTS = [1, 2, 3];

/** The gateway's own path: its frames of passing events are in `log`. */
function makeGateway(directory: string) {
  const views = new Views(1);
  const log = openLog(directory, { shards: 1 });
  const intake = new PrivateIntake({
    log,
    source: { privateTail: async () => ({ start: 1, records: [], isLast: true }) },
    shards: 1,
    progress: { setLogged: () => undefined },
    logger: createLogger('silent'),
    onCommitted: () => undefined,
  });
  const feed = new PrivateFeed(views, intake);
  views.recovering(0);
  views.recovered(0, 0);
  const apply = (words: Uint32Array, word: number): void => {
    views.apply(0, words, word);
    feed.applied(0, views.resultOf(0), words, word);
  };
  return { views, log, intake, apply };
}

type Gateway = ReturnType<typeof makeGateway>;

/** The RECORD of a row and its events, up to the first of type `last` if that is given. */
function pass({ views, intake, apply }: Gateway, row: JournalRecord, last?: EventType): void {
  const { sequence, timeMs, events } = row;
  const { words, end } = events;
  const record = new Uint32Array(EVENT.RECORD.BYTES / 4);
  record[0] = record.byteLength;
  record[ANY_EVENT.type] = EVENT.RECORD.TYPE | (EVENT_VERSION << 16);
  writeSafe(record, EVENT.RECORD.shardSequence, sequence);
  writeSafe(record, EVENT.RECORD.timeMs, timeMs);
  apply(record, 0);
  for (let { word } = events; word < end; word += words[word] / 4) {
    apply(words, word);
    // A pump batch may end after any event, also between an order and its tag.
    intake.flush();
    if (typeOf(words[word + ANY_EVENT.type]) === last) return;
  }
  views.replied(0);
}

function logOf(shard: JournaledShard, directory: string): PrivateLog {
  const gateway = makeGateway(directory);
  for (const row of shard.rig.journal.rows) pass(gateway, row);
  return gateway.log;
}

/** Every word but the number. */
function framesOf(log: PrivateLog, account: number): number[][] {
  const replay = new PrivateReplay(log, account, 0);
  const frames: number[][] = [];
  while (!replay.step(({ words, word }) => frames.push(withoutNumber(words, word))));
  return frames;
}

function withoutNumber(words: Uint32Array, word: number): number[] {
  const frame = [...words.subarray(word, word + PRIVATE_FRAME.WORDS)];
  frame.fill(0, PRIVATE_FRAME.userSequence, PRIVATE_FRAME.userSequence + 2);
  return frame;
}

function pagesOf(readDbPath: string, from: number, through: number): PrivateTailPage[] {
  const db = new Database(readDbPath, { readonly: true });
  const queries = new PrivateTailQueries(db);
  const pages: PrivateTailPage[] = [];
  for (let at = from; pages.at(-1)?.isLast !== true; at = pages.at(-1)!.records.at(-1)!.shardSequence + 1) {
    const page = queries.read({ shard: 0, from: at, through });
    assert.ok(page !== null);
    pages.push(page);
  }
  db.close();
  return pages;
}

/** Every third order has a client order id, every second a group. */
function giveNames(shard: JournaledShard): void {
  for (const account of ACCOUNTS) shard.rig.groupSet(account, account, 60, MAX_ORDER_AMOUNT);
  shard.extend = (account, order) => ({
    ...(order % 3 === 0 ? { clientId: `${order} "\\ ${'~'.repeat(order % 50)}` } : {}),
    ...(order % 2 === 0 ? { group: account } : {}),
    // An extended PLACE that leaves no tag.
    ...(order % 7 === 0 ? { deadlineMs: Number.MAX_SAFE_INTEGER } : {}),
  });
}

type Named = { client_order_id: string | null; order_group: number };

/** The order of each frame in the read model. */
function namesOf(readDbPath: string, frames: readonly number[][]): Named[] {
  const db = new Database(readDbPath, { readonly: true });
  const select = db.prepare<[Uint8Array], Named>('SELECT client_order_id, order_group FROM orders WHERE hash = ?');
  const names = frames.map((frame) => {
    const hash = new Uint8Array(
      Uint32Array.from(frame.slice(PRIVATE_FRAME.hash, PRIVATE_FRAME.hash + HASH_WORDS)).buffer,
    );
    return select.get(hash)!;
  });
  db.close();
  return names;
}

function makeProjector(shard: JournaledShard) {
  const directory = temporaryDirectory();
  const buffer = Progress.create(1);
  const readDbPath = join(directory, 'read.db');
  const { journalPath } = shard.file;
  const run = (committed: number): void => {
    const projector = new Projector({ journalPaths: [journalPath], keys: [TEST_KEY], readDbPath, progress: buffer });
    projector.progress.setCommitted(0, committed);
    while (projector.step(true));
    projector.close();
  };
  return { readDbPath, directory, run, progress: new Progress(buffer) };
}

test(`TAIL-1: the read model's private frames are word for word those of the events (SEED=${SEED})`, () => {
  const shard = new JournaledShard(SEED);
  giveNames(shard);
  shard.trade(2500);
  shard.decideMarkets();
  const { readDbPath, directory, run } = makeProjector(shard);
  // A projector that starts again knows its open orders from the file.
  for (const part of [0.3, 0.31, 0.8, 1]) run(Math.floor(part * shard.last));
  shard.close();
  const log = logOf(shard, directory);
  const frames = pagesOf(readDbPath, 1, shard.last).flatMap(({ records }) =>
    records.flatMap(({ frames: words }) =>
      Array.from({ length: words.length / PRIVATE_FRAME.WORDS }, (_, at) =>
        withoutNumber(words, at * PRIVATE_FRAME.WORDS),
      ),
    ),
  );
  assert.deepEqual(new Set(frames.map((frame) => frame[PRIVATE_FRAME.kind])), new Set([1, 2]));
  const named = frames.map((frame) => {
    const words = Uint32Array.from(frame);
    return { client_order_id: clientIdOf({ words, word: 0 }), order_group: words[PRIVATE_FRAME.group] };
  });
  assert.deepEqual(named, namesOf(readDbPath, frames), 'each frame has the names of its order');
  const combinations = frames.map((frame, at) => {
    const { client_order_id, order_group } = named[at];
    return `${frame[PRIVATE_FRAME.kind]} ${client_order_id !== null} ${order_group !== NO_GROUP}`;
  });
  assert.equal(new Set(combinations).size, 8, 'both kinds, with and without either name');
  for (const account of ACCOUNTS) {
    const logged = framesOf(log, account);
    assert.ok(logged.length > 500 && logged.length < REPLAY_PRIVATE, `${logged.length}`);
    assert.deepEqual(
      frames.filter((frame) => frame[PRIVATE_FRAME.account] === account),
      logged,
    );
  }
  log.close();
});

test('an order whose tag never came, as its shard died, is left to the read model (INTAKE-1)', () => {
  const shard = new JournaledShard(SEED);
  shard.rig.place({ clientId: 'named', account: 1 });
  shard.close();
  const gateway = makeGateway(temporaryDirectory());
  const { rows } = shard.rig.journal;
  for (const row of rows.slice(0, -1)) pass(gateway, row);
  pass(gateway, rows.at(-1)!, EVENT.ORDER.TYPE);
  assert.equal(gateway.log.last(1), 0, 'it waits');
  gateway.views.recovering(0);
  // The next thread first publishes the state of the market.
  const { events } = rows[0];
  gateway.apply(events.words, events.word);
  gateway.intake.flush();
  assert.deepEqual([gateway.log.last(1), gateway.log.logged(0).shardSequence], [0, 0]);
  gateway.log.close();
});

test('the read model keeps exactly the records that the gateway has not logged (TAIL-2)', () => {
  const shard = new JournaledShard(SEED + 1);
  shard.trade(200);
  const { readDbPath, run, progress } = makeProjector(shard);
  const middle = shard.last;
  run(middle);
  const before = pagesOf(readDbPath, 1, middle)[0];
  assert.equal(before.start, 1);
  const logged = before.records[60].shardSequence;
  progress.setLogged(0, logged);
  shard.trade(50);
  shard.close();
  run(shard.last);
  const [after] = pagesOf(readDbPath, 1, shard.last);
  assert.equal(after!.start, logged);
  const kept = after!.records.filter(({ shardSequence }) => shardSequence <= middle);
  assert.deepEqual(kept, before.records.slice(60), 'the record itself may be logged in part');
  assert.ok(after!.records.length > kept.length);
});

test('a page is refused while the projector has not come that far', () => {
  const shard = new JournaledShard(SEED + 2);
  shard.trade(10);
  shard.close();
  const { readDbPath, run } = makeProjector(shard);
  run(shard.last - 1);
  const db = new Database(readDbPath, { readonly: true });
  assert.equal(new PrivateTailQueries(db).read({ shard: 0, from: 1, through: shard.last }), null);
  db.close();
});
