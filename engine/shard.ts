/**
 * Thread entry of a shard: drain the command ring, run the commands, commit once, and only then publish.
 * Owner: this thread owns the engine and its journal; it blocks in Atomics.wait when there is nothing to do.
 *
 *   command ring ──copy──► batch ──submit──► engine ──► journal (one transaction) ──► credits, event ring
 *
 * Invariants:
 *   S1  (output gate) Nothing the engine wrote leaves this thread before the commit of the records it belongs to.
 *   S2  A batch is bounded, so one commit never waits for an endless stream.
 *   S3  Whatever goes wrong in here ends the thread: an assertion, a failed write or a failed sync is never retried, and
 *       the journal rebuilds the state.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { assert } from '../shared/assert.ts';
import { Balances } from '../shared/balances.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor } from '../shared/eip712.ts';
import { createKeccak } from '../shared/keccak.ts';
import { Progress } from '../shared/progress.ts';
import { RecordBuffer } from '../shared/record.ts';
import { RingConsumer, RingProducer } from '../shared/ring.ts';
import type { ShardOptions } from '../shared/threads.ts';
import { Engine } from './engine.ts';
import { Journal } from './journal.ts';
import { recover } from './recovery.ts';
import { createVerifier } from './verify/verifier.ts';

/** Commands a commit may wait for: at 100 rows a commit costs a few microseconds a row, more gains nothing. */
const BATCH_COMMANDS = 256;
/** How long an idle shard sleeps before it looks for a message from the gateway. */
const IDLE_WAIT_MS = 250;
const ROOM_WAIT_MS = 100;

export type ShardMessage = 'stop';
/** How the shard came back, for the log. */
export type ShardReport = {
  readonly verifier: string;
  readonly recovered: number;
  readonly fromSequence: number;
  readonly damaged: readonly string[];
};

async function main(options: ShardOptions): Promise<void> {
  const keccak = await createKeccak();
  const verifier = createVerifier(options.verifier, keccak);
  const journal = Journal.open(options);
  const domain = {
    name: DOMAIN_NAME,
    version: DOMAIN_VERSION,
    chainId: options.chainId,
    verifyingContract: options.exchangeAddress,
  };
  const { engine, fromSequence, damaged } = recover(
    journal,
    options.directory,
    options.shard,
    () =>
      new Engine({
        balances: new Balances(options.balances),
        collateralCheck: options.collateralCheck,
        hasher: hasherFor(domain, keccak),
        verifier,
        journal,
      }),
  );
  engine.goLive();
  const report: ShardReport = { verifier: verifier.name, recovered: engine.sequence, fromSequence, damaged };
  parentPort?.postMessage(report);

  const progress = new Progress(options.progress);
  progress.setCommitted(options.shard, engine.sequence);
  const events = new RingProducer(options.eventRing);
  engine.describe(() => publish(events, engine.out));
  run(options.shard, engine, journal, progress, new RingConsumer(options.commandRing), events);
  journal.close();
}

function run(
  shard: number,
  engine: Engine,
  journal: Journal,
  progress: Progress,
  commands: RingConsumer,
  events: RingProducer,
): void {
  // Commands are copied out of the ring first: the gateway gets its room back while they run, and nothing the engine
  // reads can change under it.
  const batch = new RecordBuffer(1 << 16);
  const starts = new Uint32Array(BATCH_COMMANDS);
  let trimmed = 0;
  for (;;) {
    let count = 0;
    batch.clear();
    for (; count < BATCH_COMMANDS; count++) {
      const word = commands.next();
      if (word < 0) break;
      starts[count] = batch.appendRecords(commands.words, word, commands.words[word]!);
    }
    if (count === 0) {
      if (parentPort !== null && receiveMessageOnPort(parentPort)?.message === 'stop') return;
      journal.idle();
      const trimmable = progress.trimmable(shard);
      if (trimmable > trimmed) {
        if (!journal.trim(trimmable)) trimmed = trimmable;
        continue;
      }
      commands.waitSync(IDLE_WAIT_MS);
      continue;
    }
    commands.release();
    for (let i = 0; i < count; i++) engine.submit(batch.words, batch.bytes, starts[i]!);
    if (journal.isStaged) {
      journal.commit();
      engine.state.ledger.releaseCredits();
      progress.setCommitted(shard, engine.sequence);
    }
    publish(events, engine.out);
  }
}

/** Hands the events over; the gateway always drains, so a full ring is a short wait and never a loss. */
function publish(ring: RingProducer, out: RecordBuffer): void {
  const { words } = out;
  const end = out.lengthBytes >>> 2;
  for (let from = 0; from < end; ) {
    const lengthBytes = words[from]!;
    const to = ring.tryClaim(lengthBytes, 0);
    if (to < 0) {
      ring.publish();
      ring.waitForRoom(ROOM_WAIT_MS);
      continue;
    }
    const count = lengthBytes >>> 2;
    for (let i = 1; i < count; i++) ring.words[to + i] = words[from + i]!;
    from += count;
  }
  ring.publish();
  out.clear();
}

assert(parentPort !== null, 'shard: runs as a worker thread');
await main(workerData as ShardOptions);
