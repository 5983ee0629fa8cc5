/** A log in the same database servers as an exchange's, but without an exchange: the cost of an append alone. */
import type { PostgresLog } from '../engine/replication/postgresLog.ts';
import { assert } from '../shared/base/assert.ts';
import { openLog } from '../test/support/replicatedLog.ts';

/** About as long as the row of one order. */
const ROW_BYTES = 700;
const SERVING = { name: 'serving', text: 'SELECT pid FROM pg_stat_activity WHERE datname = current_database()' };

type Lead = { readonly epoch: number; readonly end: number };

export class BareLog {
  readonly #log: PostgresLog;
  readonly #bytes = new Uint8Array(ROW_BYTES).fill(7);
  readonly #epoch: number;
  #end: number;

  constructor(log: PostgresLog, lead: Lead) {
    this.#log = log;
    this.#epoch = lead.epoch;
    this.#end = lead.end;
  }

  static async open(url: string): Promise<BareLog> {
    const name = 'round-trip';
    const log = await openLog({ after: () => {} }, url, name, { cluster: name, facts: {} });
    return new BareLog(log, (await log.take(true))!);
  }

  async append(): Promise<void> {
    const row = { stream: 0, sequence: this.#end + 1, bytes: this.#bytes };
    assert(await this.#log.append(this.#epoch, this.#end++, [row]), 'cluster: nobody else writes the log of the bench');
  }

  /** The database's processes that serve this log. */
  async pids(): Promise<number[]> {
    return (await this.#log.read<{ pid: number }>(SERVING, [])).map(({ pid }) => pid);
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}
