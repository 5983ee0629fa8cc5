/** The gateway's databases in a cluster: a following member has everything that the leading one has acknowledged. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseConfig } from '../../../../gateway/base/config.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { isLocalRow } from '../../../../gateway/base/recordedTables.ts';
import { AuditLog } from '../../../../gateway/operator/auditLog.ts';
import type { KeyedAnswer } from '../../../../gateway/shardlink/answerBatch.ts';
import { Answers } from '../../../../gateway/shardlink/answers.ts';
import { openControl } from '../../../../gateway/wiring/control.ts';
import { GatewayRecords } from '../../../../gateway/wiring/gatewayRecords.ts';
import { FORMATS, newestOf } from '../../../../shared/base/formats.ts';
import { follows, NO_RECORDS, readLine } from '../../../../shared/crypto/auditChain.ts';
import { RecordedFile } from '../../../../shared/records/recordedFile.ts';
import {
  type LogRow,
  OutboxConsumer,
  OutboxProducer,
  Replication,
  STREAM,
} from '../../../../shared/wire/replication.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';
import { actAtRandom, answersOf } from '../../../support/controlActs.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { Random } from '../../../support/random.ts';

const ENV = { DEV_MODE: 'true', MASTER_KEY: '5'.repeat(64), SHARDS: '1' };
const CALM_MS = 1_790_000_000_000;

/** The log that all members share, in memory. */
class Log {
  readonly rows: LogRow[] = [];

  endOf(stream: number): number {
    return this.rows.findLast((row) => row.stream === stream)?.sequence ?? 0;
  }
}

/** A member of the cluster: its databases, without shards and HTTP. */
class Member {
  readonly dataDir: string;
  readonly control;
  readonly answers: Answers;
  readonly audit: AuditLog;
  readonly records: GatewayRecords;
  readonly refusals: string[] = [];
  readonly #log: Log;
  readonly #memory = new Replication(Replication.create(1));
  readonly #ring = createRingBuffer(1 << 20);
  readonly #outbox = new OutboxConsumer(this.#ring);
  readonly #producer = new OutboxProducer(this.#ring);
  #position = 0;

  constructor(log: Log, dataDir = temporaryDirectory()) {
    this.#log = log;
    this.dataDir = dataDir;
    const isFirst = log.endOf(STREAM.CONTROL) === 0;
    if (!isFirst && !existsSync(join(dataDir, 'control.db'))) this.#seed();
    this.control = openControl(parseConfig({ ...ENV, DATA_DIR: dataDir }, 2), { isFollowing: !isFirst });
    const { platform, changes, auditKey } = this.control;
    const clock = new ManualClock(CALM_MS);
    const logger = createLogger('silent');
    const onRefused = (why: string) => this.refusals.push(why);
    const path = join(dataDir, 'idempotency.db');
    const inFlight = { oldestMs: (nowMs: number) => nowMs };
    this.answers = new Answers({ path, sync: 'normal', inFlight, clock, log: logger, onRefused });
    this.audit = new AuditLog({
      path: join(dataDir, 'audit.log'),
      key: auditKey,
      clock,
      log: logger,
      knownHead: { read: () => platform.auditHead, write: (head) => platform.setAuditHead(head) },
      knownShared: { read: () => platform.auditShared, write: (sequence) => platform.setAuditShared(sequence) },
      isFollowing: true,
    });
    const { answers, audit } = this;
    const { records: control } = this.control;
    this.records = new GatewayRecords({ control: control!, changes, answers, audit, settlement: null, onRefused });
  }

  /** Applies the further rows of the log. */
  async follow(): Promise<void> {
    const { rows } = this.#log;
    for (; this.#position < rows.length; this.#position++) this.records.follow(rows[this.#position]!);
    let isSettled = false;
    void this.records.settled().then(() => {
      isSettled = true;
    });
    await eventually('every row is durable', async () => isSettled || this.refusals.length > 0);
    assert.deepEqual(this.refusals, []);
  }

  async lead(): Promise<void> {
    for (const stream of Object.values(STREAM)) this.#memory.setHeld(stream, this.#log.endOf(stream));
    this.#memory.setFormats(newestOf(FORMATS));
    this.records.lead({ memory: this.#memory, outbox: this.#producer });
    this.answers.caughtUp();
    await eventually('the writer is there', async () => this.answers.isOpen);
  }

  /** The log takes the rows in the outbox, and confirms them. */
  ship(): void {
    for (let row = this.#outbox.next(); row !== null; row = this.#outbox.next()) {
      this.#log.rows.push({ ...row, position: this.#log.rows.length + 1, epoch: 1, lead: 1 });
      this.#memory.setHeld(row.stream, row.sequence);
    }
    this.#position = this.#log.rows.length;
  }

  /** Ships until this is done. */
  async shipped<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      this.ship();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return done;
  }

  keep(answer: KeyedAnswer): Promise<boolean> {
    return new Promise((resolve) => this.answers.keep(answer, resolve));
  }

  lines(): string[] {
    return readFileSync(join(this.dataDir, 'audit.log'), 'utf8').trimEnd().split('\n');
  }

  async close(): Promise<void> {
    // Nothing more gets into the log.
    this.#memory.setState('lost');
    await this.answers.stop();
    await this.audit.stop();
    this.control.changes.close();
    this.control.database.close();
  }

  #seed(): void {
    const database = openControlDatabase(join(this.dataDir, 'control.db'));
    const file = new RecordedFile({ database, isFollowing: true, isLocal: isLocalRow });
    for (const row of this.#log.rows) if (row.stream === STREAM.CONTROL) file.apply(row);
    assert.equal(file.sequence, this.#log.endOf(STREAM.CONTROL));
    database.close();
  }
}

function answer(number: number): KeyedAnswer {
  const key = new Uint8Array(16).fill(number);
  return { account: 1, route: 1, key, fingerprint: key, status: 200, body: `{"n":${number}}`, createdMs: CALM_MS };
}

const same = (a: Member, b: Member): void => assert.deepEqual(answersOf(b.control, 1), answersOf(a.control, 1));

test('a member that joins without files gets everything in the log, leads, and others get its changes', async (t) => {
  const log = new Log();
  const first = new Member(log);
  t.after(() => first.close());
  await first.lead();
  const random = new Random(5);
  for (let turn = 0; turn < 40; turn++) actAtRandom(first.control, random, turn);
  await first.shipped(first.control.changes.durable());
  assert.equal(await first.shipped(first.keep(answer(1))), true);
  await first.shipped(first.audit.append({ event: 'change' }));

  const second = new Member(log);
  t.after(() => second.close());
  await second.follow();
  for (const stream of [STREAM.CONTROL, STREAM.ANSWERS, STREAM.AUDIT]) {
    const isDurable = async () => second.records.durable(stream) === log.endOf(stream);
    await eventually(`stream ${stream} is durable, and a restart knows it`, isDurable);
  }
  assert.equal(second.control.platform.auditShared, log.endOf(STREAM.AUDIT));
  same(first, second);
  assert.deepEqual(second.control.journalKey, first.control.journalKey);
  assert.equal(second.answers.find(answer(1))?.body, '{"n":1}');
  assert.deepEqual(second.lines(), first.lines());

  // The first one dies with an answer, a line and a change that the log never held.
  first.control.platform.setPaused(!first.control.platform.paused);
  let isAnswered = false;
  void first.keep(answer(2)).then(() => {
    isAnswered = true;
  });
  void first.audit.append({ event: 'change', lost: true }).catch(() => {});
  await eventually('its line', async () => /lost/.test(first.lines().at(-1)!));
  await eventually('its answer', async () => first.answers.find(answer(2)) !== null);
  assert.equal(isAnswered, false);

  await second.lead();
  for (let turn = 40; turn < 60; turn++) actAtRandom(second.control, random, turn);
  await second.shipped(second.control.changes.durable());
  assert.equal(await second.shipped(second.keep(answer(3))), true);
  await second.shipped(second.audit.append({ event: 'change', second: true }));
  let head = NO_RECORDS;
  for (const text of second.lines()) {
    const line = readLine(text, second.control.auditKey);
    assert.ok(line !== null && line.mac === 'valid' && follows(line, head), text);
    head = line;
  }
  assert.match(second.lines().join('\n'), /"interrupted"/);
});

test('a former leader undoes records that the log never held, but cannot undo a change of control.db', async (t) => {
  const log = new Log();
  const first = new Member(log);
  await first.lead();
  await first.shipped(first.control.changes.durable());
  assert.equal(await first.shipped(first.keep(answer(1))), true);
  const second = new Member(log);
  t.after(() => second.close());
  await second.follow();

  void first.keep(answer(2));
  void first.audit.append({ event: 'change', lost: true }).catch(() => {});
  await eventually('its line', async () => /lost/.test(first.lines().at(-1)!));
  await eventually('its answer', async () => first.answers.find(answer(2)) !== null);
  await first.close();
  await second.lead();
  assert.equal(await second.shipped(second.keep(answer(3))), true);
  await second.shipped(second.audit.append({ event: 'change', second: true }));

  const again = new Member(log, first.dataDir);
  await again.follow();
  assert.deepEqual(again.lines(), second.lines());
  assert.match(readFileSync(join(first.dataDir, 'audit.log.unshared'), 'utf8'), /"lost":true/);
  assert.equal(again.answers.find(answer(2)), null);
  assert.equal(again.answers.find(answer(3))?.body, '{"n":3}');

  // A change of control.db that the log never held cannot be taken back.
  second.control.platform.setPaused(true);
  await second.shipped(second.control.changes.durable());
  const before = again.records.durable(STREAM.CONTROL);
  const following = again.follow();
  assert.equal(again.control.platform.paused, true);
  assert.equal(again.records.durable(STREAM.CONTROL), before, 'what is applied is not synced yet');
  await following;
  assert.equal(again.records.durable(STREAM.CONTROL), before + 1);
  await again.close();
  const wrong = new Member(new Log(), first.dataDir);
  await wrong.lead();
  wrong.control.platform.setPaused(false);
  await wrong.close();
  actAtRandom(second.control, new Random(3), 1);
  await second.shipped(second.control.changes.durable());
  const left = new Member(log, first.dataDir);
  t.after(() => left.close());
  await assert.rejects(left.follow(), /another one in this file/);
});
