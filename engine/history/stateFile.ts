/** `state.json` in HISTORY_DIR: the days that there are, and how far their writer is behind the journals. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HISTORY_FORMAT, HISTORY_STATE_FILE, type HistoryState } from '../../shared/base/historyTables.ts';

type Followed = {
  readonly shard: number;
  /** The last record in the history, and its time. */
  readonly sequence: number;
  readonly timeMs: number;
  /** The last committed record. */
  readonly last: number;
};

/** A state without a change is written again after this time: its own time says that the writer is there. */
const SAY_AGAIN_MS = 60_000;

export class StateFile {
  readonly #path: string;
  #said = '';
  #saidMs = 0;

  constructor(historyDir: string) {
    this.#path = join(historyDir, HISTORY_STATE_FILE);
  }

  /** A reader sees either the old state or the new one. After a power cut it may be an older one for a moment. */
  write(days: HistoryState['days'], followed: readonly Followed[], nowMs: number): void {
    const behind = followed.filter(({ sequence, last }) => sequence < last);
    const facts = {
      behind_records: behind.reduce((sum, { sequence, last }) => sum + last - sequence, 0),
      days,
      shards: followed.map(({ shard, sequence, timeMs, last }) => {
        return { shard, record: sequence, record_ms: timeMs, last_record: last };
      }),
    };
    const text = JSON.stringify(facts);
    if (text === this.#said && Math.abs(nowMs - this.#saidMs) < SAY_AGAIN_MS) return;
    this.#said = text;
    this.#saidMs = nowMs;
    const behind_ms = Math.max(0, ...behind.map(({ timeMs }) => (timeMs === 0 ? 0 : nowMs - timeMs)));
    const state: HistoryState = { format: HISTORY_FORMAT, time_ms: nowMs, behind_ms, ...facts };
    writeFileSync(`${this.#path}.new`, `${JSON.stringify(state)}\n`);
    renameSync(`${this.#path}.new`, this.#path);
  }
}
