import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { Projector } from '../../../engine/projector/projector.ts';
import { createLogger } from '../../../gateway/log.ts';
import { type PrivateTailPage, PrivateTailQueries } from '../../../gateway/queries/privateTail.ts';
import { PrivateFeed } from '../../../gateway/stream/privateFeed.ts';
import { PrivateIntake } from '../../../gateway/stream/privateIntake.ts';
import { type PrivateLog, REPLAY_PRIVATE } from '../../../gateway/stream/privateLog.ts';
import { PrivateReplay } from '../../../gateway/stream/privateReplay.ts';
import { HASH_WORDS } from '../../../gateway/views/hashIndex.ts';
import { Views } from '../../../gateway/views/index.ts';
import { MAX_ORDER_AMOUNT } from '../../../shared/codes.ts';
import { NO_GROUP } from '../../../shared/commands.ts';
import * as ev from '../../../shared/events.ts';
import {
  clientIdOf,
  PRIVATE_RECORD_WORDS,
  PRV_ACCOUNT,
  PRV_GROUP,
  PRV_HASH,
  PRV_KIND,
  PRV_USER_SEQUENCE,
} from '../../../shared/privateRecord.ts';
import { Progress } from '../../../shared/progress.ts';
import { writeSafe } from '../../../shared/record.ts';
import { JournaledShard } from '../../support/journaledShard.ts';
import { openLog, privateDirectory } from '../../support/privateFrames.ts';

const SEED = Number(process.env['SEED'] ?? 11);
const ACCOUNTS = [1, 2, 3];

/** The gateway's own path: what it makes of events as they pass is in `log`. */
function makeGateway(directory: string) {
  const views = new Views(1);
  const log = openLog(directory, { shards: 1 });
  const intake = new PrivateIntake({
    log,
    source: { privateTail: async () => ({ start: 1, records: [], isLast: true }) },
    shards: 1,
    progress: { setTold: () => undefined },
    logger: createLogger('silent'),
    onTold: () => undefined,
  });
  const feed = new PrivateFeed(views, intake);
  views.listener = {
    applied: (...event) => feed.applied(...event),
    recovered: () => undefined,
    flush: () => undefined,
  };
  views.begin(0);
  views.recovered(0, 0);
  return { views, log, intake };
}

type Gateway = ReturnType<typeof makeGateway>;
type Row = JournaledShard['rig']['journal']['rows'][number];

/** The RECORD of a row and its events, up to the first of type `last` if that is given. */
function pass({ views, intake }: Gateway, row: Row, last?: ev.EventType): void {
  const { sequence, timeMs, words, eventWord } = row;
  const record = new Uint32Array(ev.EVENT_BYTES[ev.EVENT.RECORD]! / 4);
  record[0] = record.byteLength;
  record[ev.EV_TYPE] = ev.EVENT.RECORD | (ev.EVENT_VERSION << 16);
  writeSafe(record, ev.RECORD_SEQUENCE, sequence);
  writeSafe(record, ev.RECORD_TIME_MS, timeMs);
  views.apply(0, record, 0);
  for (let word = eventWord; word < words.length; word += words[word]! / 4) {
    views.apply(0, words, word);
    // A pump batch may end behind any event, also between an order and its tag.
    intake.flush();
    if (ev.typeOf(words[word + ev.EV_TYPE]!) === last) return;
  }
  views.outcomes[0]!.clear();
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
  const frame = [...words.subarray(word, word + PRIVATE_RECORD_WORDS)];
  frame.fill(0, PRV_USER_SEQUENCE, PRV_USER_SEQUENCE + 2);
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

/** What the read model says of the order of each frame. */
function namesOf(readDbPath: string, frames: readonly number[][]): Named[] {
  const db = new Database(readDbPath, { readonly: true });
  const select = db.prepare<[Uint8Array], Named>('SELECT client_order_id, order_group FROM orders WHERE hash = ?');
  const names = frames.map((frame) => {
    const hash = new Uint8Array(Uint32Array.from(frame.slice(PRV_HASH, PRV_HASH + HASH_WORDS)).buffer);
    return select.get(hash)!;
  });
  db.close();
  return names;
}

function makeProjector(t: { after(cleanUp: () => void): void }, shard: JournaledShard) {
  const directory = privateDirectory(t);
  const buffer = Progress.create(1);
  const readDbPath = join(directory, 'read.db');
  const { journalPath } = shard.file;
  const run = (committed: number): void => {
    const projector = new Projector({ journalPaths: [journalPath], readDbPath, progress: buffer });
    projector.progress.setCommitted(0, committed);
    while (projector.step(true));
    projector.close();
  };
  return { readDbPath, directory, run, progress: new Progress(buffer) };
}

test(`the read model's private frames are word for word those of the events as they pass (H1; SEED=${SEED})`, (t) => {
  const shard = new JournaledShard(t, SEED);
  giveNames(shard);
  shard.trade(2500);
  shard.decideMarkets();
  const { readDbPath, directory, run } = makeProjector(t, shard);
  // A projector that starts again knows its open orders from the file.
  for (const part of [0.3, 0.31, 0.8, 1]) run(Math.floor(part * shard.last));
  shard.close();
  const log = logOf(shard, directory);
  const frames = pagesOf(readDbPath, 1, shard.last).flatMap(({ records }) =>
    records.flatMap(({ frames: words }) =>
      Array.from({ length: words.length / PRIVATE_RECORD_WORDS }, (_, at) =>
        withoutNumber(words, at * PRIVATE_RECORD_WORDS),
      ),
    ),
  );
  assert.deepEqual(new Set(frames.map((frame) => frame[PRV_KIND])), new Set([1, 2]));
  const named = frames.map((frame) => {
    const words = Uint32Array.from(frame);
    return { client_order_id: clientIdOf({ words, word: 0 }), order_group: words[PRV_GROUP]! };
  });
  assert.deepEqual(named, namesOf(readDbPath, frames), 'each frame has the names of its order');
  const combinations = frames.map((frame, at) => {
    const { client_order_id, order_group } = named[at]!;
    return `${frame[PRV_KIND]} ${client_order_id !== null} ${order_group !== NO_GROUP}`;
  });
  assert.equal(new Set(combinations).size, 8, 'both kinds, with and without either name');
  for (const account of ACCOUNTS) {
    const told = framesOf(log, account);
    assert.ok(told.length > 500 && told.length < REPLAY_PRIVATE, `${told.length}`);
    assert.deepEqual(
      frames.filter((frame) => frame[PRV_ACCOUNT] === account),
      told,
    );
  }
  log.close();
});

test('an order whose tag never came, as its shard died, is left to the read model (I1)', (t) => {
  const shard = new JournaledShard(t, SEED);
  shard.rig.place({ clientId: 'named', account: 1 });
  shard.close();
  const gateway = makeGateway(privateDirectory(t));
  const { rows } = shard.rig.journal;
  for (const row of rows.slice(0, -1)) pass(gateway, row);
  pass(gateway, rows.at(-1)!, ev.EVENT.ORDER);
  assert.equal(gateway.log.last(1), 0, 'it waits');
  gateway.views.begin(0);
  // The next thread tells how the market stands before anything else.
  gateway.views.apply(0, rows[0]!.words, rows[0]!.eventWord);
  gateway.intake.flush();
  assert.deepEqual([gateway.log.last(1), gateway.log.mark(0).shardSequence], [0, 0]);
  gateway.log.close();
});

test('the read model keeps what is not told yet and nothing else (H2)', (t) => {
  const shard = new JournaledShard(t, SEED + 1);
  shard.trade(200);
  const { readDbPath, run, progress } = makeProjector(t, shard);
  const middle = shard.last;
  run(middle);
  const before = pagesOf(readDbPath, 1, middle)[0]!;
  assert.equal(before.start, 1);
  const told = before.records[60]!.shardSequence;
  progress.setTold(0, told);
  shard.trade(50);
  shard.close();
  run(shard.last);
  const [after] = pagesOf(readDbPath, 1, shard.last);
  assert.equal(after!.start, told);
  const kept = after!.records.filter(({ shardSequence }) => shardSequence <= middle);
  assert.deepEqual(kept, before.records.slice(60), 'the record itself may be told of in part');
  assert.ok(after!.records.length > kept.length);
});

test('a page is refused while the projector has not come that far', (t) => {
  const shard = new JournaledShard(t, SEED + 2);
  shard.trade(10);
  shard.close();
  const { readDbPath, run } = makeProjector(t, shard);
  run(shard.last - 1);
  const db = new Database(readDbPath, { readonly: true });
  assert.equal(new PrivateTailQueries(db).read({ shard: 0, from: 1, through: shard.last }), null);
  db.close();
});
