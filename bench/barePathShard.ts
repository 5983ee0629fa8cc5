/**
 * Thread entry of the bare path's shard (barePath.ts): consumes the records in the ring, checks each order's signature,
 * writes one row for each record, commits once, and then replies. A batch has at most the requests in flight: a client
 * has one on each connection.
 */
import { join } from 'node:path';
import { workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { placeDigest } from '../engine/verify/placeDigest.ts';
import type { Verifier } from '../engine/verify/verifier.ts';
import { assert } from '../shared/base/assert.ts';
import { HASH_BYTES } from '../shared/base/hex.ts';
import { hasherFor, type OrderHasher } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import { ANY_COMMAND, COMMAND } from '../shared/wire/commands.ts';
import { RingConsumer, RingProducer } from '../shared/wire/ring.ts';
import { nativeVerifier } from '../test/support/nativeVerifier.ts';
import * as protocol from './barePathProtocol.ts';

const IDLE_WAIT_MS = 250;
/** 16 MB, so that no checkpoint falls into most rounds of a bench. */
const CHECKPOINT_PAGES = 4000;

async function main({ domain, directory, commandRing, answerRing }: protocol.BarePathShardOptions): Promise<void> {
  const keccak = await createKeccak();
  const hasher = hasherFor(domain, keccak);
  const verifier = nativeVerifier(keccak);
  const journal = openJournal(join(directory, 'journal.db'));
  const commands = new RingConsumer(commandRing);
  const answers = new RingProducer(answerRing);
  let sequence = 0;
  for (;;) {
    let word = commands.next();
    if (word < 0) {
      commands.waitSync(IDLE_WAIT_MS);
      continue;
    }
    journal.begin.run();
    for (; word >= 0; word = commands.next()) {
      const isAccepted = check(commands, word, hasher, verifier);
      const start = word * 4;
      journal.insert.run(++sequence, commands.bytes.subarray(start, start + commands.words[word]));
      claimAnswer(commands, word, answers, isAccepted, sequence);
    }
    journal.commit.run();
    commands.release();
    answers.publish();
  }
}

function openJournal(path: string): Record<'begin' | 'insert' | 'commit', Database.Statement> {
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  db.exec('CREATE TABLE journal (sequence INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT');
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    insert: db.prepare('INSERT INTO journal (sequence, bytes) VALUES (?, ?)'),
    commit: db.prepare('COMMIT'),
  };
}

/**
 * The digest goes into the field of the record that is reserved for it, as in the engine. A cancel has no signature.
 */
function check({ words, bytes }: RingConsumer, word: number, hasher: OrderHasher, verifier: Verifier): boolean {
  if ((words[word + ANY_COMMAND.type] & 0xffff) !== COMMAND.PLACE.TYPE) return true;
  const digest = (word + COMMAND.PLACE.hash) * 4;
  placeDigest(hasher, words, bytes, word, bytes, digest);
  return verifier.verify(
    bytes,
    digest,
    bytes,
    (word + COMMAND.PLACE.signature) * 4,
    bytes,
    (word + COMMAND.PLACE.signerAddress) * 4,
  );
}

/** The reply is published with the others of the batch, after the commit. */
function claimAnswer(
  { words, bytes }: RingConsumer,
  word: number,
  answers: RingProducer,
  isAccepted: boolean,
  sequence: number,
): void {
  const answer = answers.tryClaim(protocol.ANSWER.BYTES, 0);
  assert(answer >= 0, 'bare path: the ring has room for every request in flight');
  answers.words[answer + protocol.ANSWER.type] = protocol.ANSWER.TYPE;
  answers.words[answer + protocol.ANSWER.requestId] = words[word + ANY_COMMAND.requestId];
  answers.words[answer + protocol.ANSWER.isAccepted] = isAccepted ? 1 : 0;
  answers.words[answer + protocol.ANSWER.sequence] = sequence;
  const hash = (word + HASH_WORD) * 4;
  answers.bytes.set(bytes.subarray(hash, hash + HASH_BYTES), (answer + protocol.ANSWER.orderHash) * 4);
}

/** Both commands have the hash at the same offset. */
const HASH_WORD = COMMAND.PLACE.hash;
assert(HASH_WORD === COMMAND.CANCEL.hash, 'bare path: every command has its hash at one place');

await main(workerData as protocol.BarePathShardOptions);
