/**
 * Thread entry of the bare path's shard (barePath.ts): takes what is in the ring, checks each order's signature, writes
 * a row for each record, commits once, and then answers. A batch is bounded by the requests in flight, of which a
 * client has one for each connection.
 */
import { join } from 'node:path';
import { workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { placeDigest } from '../engine/verify/placeDigest.ts';
import { createVerifier, type Verifier } from '../engine/verify/verifier.ts';
import { assert } from '../shared/assert.ts';
import {
  CANCEL_HASH,
  CMD_REQUEST,
  CMD_TYPE,
  COMMAND,
  PLACE_HASH,
  PLACE_SIGNATURE,
  PLACE_SIGNER,
} from '../shared/commands.ts';
import { hasherFor, type OrderHasher } from '../shared/eip712.ts';
import { HASH_BYTES } from '../shared/hex.ts';
import { createKeccak } from '../shared/keccak.ts';
import { RingConsumer, RingProducer } from '../shared/ring.ts';
import * as protocol from './barePathProtocol.ts';

const IDLE_WAIT_MS = 250;
/** 16 MB, so that no checkpoint falls into most rounds of a bench. */
const CHECKPOINT_PAGES = 4000;

async function main({ domain, directory, commandRing, answerRing }: protocol.BarePathShardOptions): Promise<void> {
  const keccak = await createKeccak();
  const hasher = hasherFor(domain, keccak);
  const verifier = createVerifier('native', keccak);
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

/** The digest goes where the record has room for it, as in the engine. A cancel has nothing to check. */
function check({ words, bytes }: RingConsumer, word: number, hasher: OrderHasher, verifier: Verifier): boolean {
  if ((words[word + CMD_TYPE] & 0xffff) !== COMMAND.PLACE) return true;
  const digest = (word + PLACE_HASH) * 4;
  placeDigest(hasher, words, bytes, word, bytes, digest);
  return verifier.verify(bytes, digest, bytes, (word + PLACE_SIGNATURE) * 4, bytes, (word + PLACE_SIGNER) * 4);
}

/** It leaves with the others of the batch, once they are durable. */
function claimAnswer(
  { words, bytes }: RingConsumer,
  word: number,
  answers: RingProducer,
  isAccepted: boolean,
  sequence: number,
): void {
  const answer = answers.tryClaim(protocol.ANSWER_BYTES, 0);
  assert(answer >= 0, 'bare path: the ring has room for every request in flight');
  answers.words[answer + 1] = protocol.ANSWER;
  answers.words[answer + protocol.ANSWER_REQUEST] = words[word + CMD_REQUEST];
  answers.words[answer + protocol.ANSWER_ACCEPTED] = isAccepted ? 1 : 0;
  answers.words[answer + protocol.ANSWER_SEQUENCE] = sequence;
  const hash = (word + HASH_WORD) * 4;
  answers.bytes.set(bytes.subarray(hash, hash + HASH_BYTES), (answer + protocol.ANSWER_HASH) * 4);
}

/** In both commands at the same place. */
const HASH_WORD = PLACE_HASH;
assert(HASH_WORD === CANCEL_HASH, 'bare path: every command has its hash at one place');

await main(workerData as protocol.BarePathShardOptions);
