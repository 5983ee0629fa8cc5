/**
 * The latest score of each event, as the administrator or a feed has posted it (RULES.md 9.30).
 * Owner: the gateway thread; in memory, written through to control.db.
 */
import type { LiveScore } from '../../shared/api/events.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

type Score = Omit<LiveScore, 'updated_at'>;

type ScoreRow = {
  event_index: number;
  status: string;
  clock: string | null;
  period: string | null;
  home_score: number;
  away_score: number;
  updated_ms: number;
};

export class LiveScores {
  readonly #changes: Changes;
  /** By the index of the event. */
  readonly #scores = new Map<number, LiveScore>();
  readonly #replace;
  readonly #select;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#replace = database.prepare<ScoreRow>(
      `INSERT OR REPLACE INTO live_scores
         VALUES ($event_index, $status, $clock, $period, $home_score, $away_score, $updated_ms)`,
    );
    this.#select = database.prepare<[number], ScoreRow>('SELECT * FROM live_scores WHERE event_index = ?');
    for (const row of database.prepare<[], ScoreRow>('SELECT * FROM live_scores').iterate()) this.#keep(row);
  }

  /** A row is replaced, never deleted. */
  reload(changed: TakenRows): void {
    for (const event of changed.numbersOf('live_scores')) this.#keep(this.#select.get(event)!);
  }

  /** Null if no score has been posted for the event. */
  of(eventIndex: number): LiveScore | null {
    return this.#scores.get(eventIndex) ?? null;
  }

  /** Durable once `durable` resolves. */
  set(eventIndex: number, score: Score, nowMs: number): void {
    const row = { event_index: eventIndex, ...score, updated_ms: nowMs };
    this.#changes.write(() => this.#replace.run(row));
    this.#keep(row);
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }

  #keep({ event_index, updated_ms, ...score }: ScoreRow): void {
    this.#scores.set(event_index, { ...score, updated_at: new Date(updated_ms).toISOString() });
  }
}
