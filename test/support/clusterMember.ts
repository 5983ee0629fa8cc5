/**
 * The replication thread of a member of a cluster, with a test in the place of its gateway and its shards: rows that it
 * is posted are applied at once, and rows are put into its outboxes.
 */
import { Worker } from 'node:worker_threads';
import { createLogOrder, LogOrderConsumer, type OrderedRow } from '../../shared/wire/logOrder.ts';
import { type LogRow, type NewRow, OutboxProducer, Replication } from '../../shared/wire/replication.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import type {
  LocalEnd,
  ReplicationMessage,
  ReplicationOptions,
  ReplicationRequest,
} from '../../shared/wire/threads.ts';
import { eventually, within } from './eventually.ts';
import type { Scope } from './server.ts';

const MAIN_URL = new URL('../../engine/replication/main.ts', import.meta.url);
const SHARDS = 2;
const OUTBOX_BYTES = 1 << 20;

type Named = Pick<ReplicationOptions, 'url' | 'holder'>;
type Ends = readonly LocalEnd[];

class ClusterMember {
  readonly memory: Replication;
  /** The outboxes of the shards, then the gateway's. */
  readonly outboxes: readonly OutboxProducer[];
  readonly rows: LogRow[] = [];
  readonly messages: ReplicationMessage[] = [];
  /** The names of rows that the gateway would get. */
  readonly named: OrderedRow[] = [];
  readonly #order = createLogOrder();
  readonly #names = new LogOrderConsumer(this.#order);
  readonly #worker: Worker;
  readonly #exited: Promise<void>;

  constructor(options: Named, ends: Ends) {
    const memory = Replication.create(SHARDS);
    const buffers = Array.from({ length: SHARDS + 1 }, () => createRingBuffer(OUTBOX_BYTES));
    this.memory = new Replication(memory);
    this.outboxes = buffers.map((buffer) => new OutboxProducer(buffer));
    const workerData: ReplicationOptions = {
      cluster: 'exchange',
      address: `http://${options.holder}:8080`,
      version: '1.0.0',
      isUnreplicatedAllowed: false,
      isUnsyncedAllowed: true,
      facts: { shards: String(SHARDS) },
      memory,
      outboxes: buffers,
      commandRings: Array.from({ length: SHARDS }, () => createRingBuffer(4096)),
      order: this.#order,
      ...options,
    };
    this.#worker = new Worker(MAIN_URL, { workerData });
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', () => resolve());
    });
    this.#worker.on('message', (message: ReplicationMessage) => {
      this.messages.push(message);
      if ('opened' in message) this.send({ follow: ends });
      if ('rows' in message) {
        this.rows.push(...message.rows);
        this.send({ applied: message.end, durable: message.end });
        this.send({ numbered: message.end });
      }
      if ('role' in message && message.role === 'leader') this.send({ mayLead: true });
    });
  }

  send(request: ReplicationRequest): void {
    this.#worker.postMessage(request);
  }

  /** Puts a row into the outbox it belongs into. */
  put(row: NewRow): void {
    this.outboxes[Math.min(row.stream, SHARDS)]!.put(row);
  }

  async becomes(state: 'leader' | 'standby' | 'lost'): Promise<void> {
    await eventually(`a member that is ${state}`, async () => this.memory.state() === state);
  }

  /** Resolves once this many rows were named. */
  async names(count: number): Promise<readonly OrderedRow[]> {
    await eventually(`${count} names`, async () => {
      this.#names.read(this.named);
      return this.named.length >= count;
    });
    return this.named;
  }

  async holds(stream: number, sequence: number): Promise<void> {
    await eventually(
      () => `stream ${stream} held up to ${sequence}: ${this.lost ?? this.memory.state()}`,
      async () => this.memory.held(stream) >= sequence,
    );
  }

  get lost(): string | undefined {
    return this.messages.flatMap((message) => ('lost' in message ? [message.lost] : []))[0];
  }

  /** The member for which this one was asked to end. */
  get handedOver(): string | undefined {
    return this.messages.flatMap((message) => ('handOver' in message ? [message.handOver] : []))[0];
  }

  /** The thread is gone in the middle of its work, as when its process is killed. */
  async kill(): Promise<void> {
    await this.#worker.terminate();
  }

  /** The planned end. */
  async stop(): Promise<void> {
    this.send('stop');
    await within('the planned end of a replication thread', this.#exited);
  }
}

export function startMember(scope: Scope, url: string, holder: string, ends: Ends = []): ClusterMember {
  const member = new ClusterMember({ url, holder }, ends);
  scope.after(() => member.kill());
  return member;
}
