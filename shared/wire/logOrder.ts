/**
 * The order of the replicated log on its way from the replication thread to the gateway: a ring with the name of every
 * row. The gateway numbers private frames by it (gateway/stream/orderedIntake.ts).
 * Owner: the replication thread writes, the gateway thread reads.
 *
 * Invariants:
 *   LOGORDER-1  Rows come in the order of the log, each once per process.
 *   LOGORDER-2  A row is put in before this process can see its consequences: on a leader before `held` covers it, on a
 *               standby before it is posted. If the ring is full, it may become visible later.
 */
import { record, safe, u32 } from './layout.ts';
import { readSafe, writeSafe } from './record.ts';
import { RingConsumer, RingProducer } from './ring.ts';
import { createRingBuffer } from './ringLayout.ts';

export const LOG_ORDER_ROW = record(
  'LOG_ORDER_ROW',
  {
    length: u32(),
    type: u32('1'),
    stream: u32(),
    unused: u32(),
    sequence: safe('of the last record in the row'),
    position: safe('of the row in the log'),
  },
  'The name of a row that the replicated log holds.',
);
const ROW_TYPE = 1;
/** Room for 32,768 rows: the rows of many seconds. */
const RING_BYTES = 1 << 20;
/** The time between two attempts to put waiting rows into a full ring. */
const FLUSH_MS = 5;

/** A row of the log: its stream, and the sequence number up to which the stream goes with it. */
export type OrderedRow = { readonly stream: number; readonly sequence: number; readonly position: number };

export function createLogOrder(): SharedArrayBuffer {
  return createRingBuffer(RING_BYTES);
}

export class LogOrderProducer {
  readonly #ring: RingProducer;
  /** Rows that are not in the ring yet, in order. */
  readonly #waiting: OrderedRow[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(buffer: SharedArrayBuffer) {
    this.#ring = new RingProducer(buffer);
  }

  put(rows: readonly OrderedRow[]): void {
    for (const { stream, sequence, position } of rows) this.#waiting.push({ stream, sequence, position });
    this.#flush();
  }

  #flush(): void {
    let count = 0;
    while (count < this.#waiting.length && this.#write(this.#waiting[count])) count++;
    this.#waiting.splice(0, count);
    if (count > 0) this.#ring.publish();
    if (this.#waiting.length === 0 || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#flush();
    }, FLUSH_MS);
    this.#timer.unref();
  }

  #write({ stream, sequence, position }: OrderedRow): boolean {
    const word = this.#ring.tryClaim(LOG_ORDER_ROW.BYTES, 0);
    if (word < 0) return false;
    const { words } = this.#ring;
    words[word + LOG_ORDER_ROW.type] = ROW_TYPE;
    words[word + LOG_ORDER_ROW.stream] = stream;
    writeSafe(words, word + LOG_ORDER_ROW.sequence, sequence);
    writeSafe(words, word + LOG_ORDER_ROW.position, position);
    return true;
  }
}

export class LogOrderConsumer {
  readonly #ring: RingConsumer;

  constructor(buffer: SharedArrayBuffer) {
    this.#ring = new RingConsumer(buffer);
  }

  /** Appends the rows that have arrived to `rows`. */
  read(rows: OrderedRow[]): void {
    const { words } = this.#ring;
    for (let word = this.#ring.next(); word >= 0; word = this.#ring.next()) {
      rows.push({
        stream: words[word + LOG_ORDER_ROW.stream],
        sequence: readSafe(words, word + LOG_ORDER_ROW.sequence),
        position: readSafe(words, word + LOG_ORDER_ROW.position),
      });
    }
    this.#ring.release();
  }
}
