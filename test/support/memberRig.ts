/** Members of a cluster over a database in memory, whose time, standbys and answers a test moves. */
import { rejoinJournals } from '../../engine/replication/journals.ts';
import { Member } from '../../engine/replication/member.ts';
import { Outboxes } from '../../engine/replication/outboxes.ts';
import { FORMATS, type KnownFormats } from '../../shared/base/formats.ts';
import { type LogRow, type NewRow, OutboxProducer, Replication } from '../../shared/wire/replication.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import type { LocalEnd, ReplicationMessage } from '../../shared/wire/threads.ts';
import { FakeDatabase } from './fakeDatabase.ts';
import { FakeLog } from './fakeLog.ts';
import { ManualTiming, promisesKept } from './manualTiming.ts';

const SHARDS = 2;
const OUTBOX_BYTES = 1 << 23;

/** A member with the test as its gateway: rows are applied at once, unless it says otherwise. */
export class Rig {
  readonly log: FakeLog;
  readonly memory: Replication;
  readonly member: Member;
  readonly outboxes: readonly OutboxProducer[];
  readonly messages: ReplicationMessage[] = [];
  mayLead = true;
  /** False: the test reports later that its files are there. */
  isReady = true;
  /** False: none of its requests gets an answer. */
  isConnected = true;
  /** Asked before it gives a copy, to check that the log has its rows. */
  agrees: () => Promise<boolean> = () => Promise.resolve(false);
  /** Resolves when it has stopped using its files. */
  filesStopped: Promise<void> = Promise.resolve();
  readonly #timing = new ManualTiming();
  #read = 0;
  #onRows: () => void = () => {};

  constructor(name: string, database: FakeDatabase, ends: LocalEnd[] = [], known: KnownFormats = FORMATS) {
    const memory = Replication.create(SHARDS);
    const buffers = Array.from({ length: SHARDS + 1 }, () => createRingBuffer(OUTBOX_BYTES));
    const outboxes = new Outboxes(buffers);
    this.log = new FakeLog(database, name, known);
    this.memory = new Replication(memory);
    this.outboxes = buffers.map((buffer) => new OutboxProducer(buffer));
    this.member = new Member({
      options: { holder: name, memory, commandRings: [], formats: known },
      log: this.log,
      outboxes: {
        take: (mostBytes) => outboxes.take(mostBytes),
        isEmpty: () => outboxes.isEmpty(),
        end: () => {},
        watch: (onRows) => {
          this.#onRows = onRows;
        },
      },
      order: { put: () => {} },
      timing: this.#timing,
      files: {
        mark: null,
        ends: null,
        prepare: async () => [],
        rejoin: (journals, reads) => rejoinJournals(reads, journals, null),
        look: async (_, agrees) => {
          this.agrees = agrees;
        },
        copied: () => {},
        leave: () => {},
        stop: () => this.filesStopped,
      },
      post: (message) => {
        this.messages.push(message);
        if ('opened' in message && this.isReady) this.member.receive({ follow: ends });
      },
    });
    void this.member.open();
  }

  async turn(ms: number): Promise<void> {
    this.#timing.advance(ms);
    this.#onRows();
    await promisesKept();
    if (this.isConnected) this.log.settle();
    await promisesKept();
    for (; this.#read < this.messages.length; this.#read++) {
      const message = this.messages[this.#read]!;
      if ('rows' in message) {
        this.member.receive({ applied: message.end, durable: message.end });
        this.member.receive({ numbered: message.end });
      }
      if ('role' in message && message.role === 'leader' && this.mayLead) this.member.receive({ mayLead: true });
    }
  }

  /** Time by the clock of ages of its process. */
  get nowMs(): number {
    return this.memory.ages(this.#timing).nowMs();
  }

  /** The clock of its machine is set to another time. */
  setClock(byMs: number): void {
    this.#timing.set(byMs);
  }

  put(row: NewRow): void {
    this.outboxes[Math.min(row.stream, SHARDS)]!.put(row);
  }

  get rows(): readonly LogRow[] {
    return this.messages.flatMap((message) => ('rows' in message ? message.rows : []));
  }

  get lost(): readonly string[] {
    return this.messages.flatMap((message) => ('lost' in message ? [message.lost] : []));
  }
}

export class Cluster {
  nowMs = 0;
  /** The standbys of the database that receive writes. */
  standbys: readonly (0 | 1)[] = [0, 1];
  readonly database = new FakeDatabase(() => this.nowMs);
  readonly members: Rig[] = [];

  add(name: string, ends?: LocalEnd[], known?: KnownFormats): Rig {
    const member = new Rig(name, this.database, ends, known);
    this.members.push(member);
    return member;
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 10) {
      this.nowMs += 10;
      for (const member of this.members) {
        await member.turn(10);
        for (const standby of this.standbys) this.database.replicate(standby);
      }
    }
  }

  /** The process is gone, and nothing that it has sent is lost. */
  kill(member: Rig): void {
    this.members.splice(this.members.indexOf(member), 1);
  }
}
