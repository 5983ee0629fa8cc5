/**
 * After a crash, finds the keys whose commands are in the journals but whose answers are not in idempotency.db. They
 * get rows that record this before any key is let in, so that a retry finds the result of its request (RULES.md 6.7).
 * Owner: the gateway thread.
 */
import type { Progress } from '../../shared/wire/progress.ts';
import type { Answers } from './answers.ts';
import type { KeyReads } from './journaledKeys.ts';

export type CatchUpOptions = {
  readonly answers: Answers;
  readonly queries: Pick<KeyReads, 'journaledKeys'>;
  readonly progress: Progress;
  readonly isStopped: () => boolean;
};

const LOOK_EVERY_MS = 1000;

/**
 * Called when all shards are READY. Resolves when every key has its row, however long the read model takes to catch up.
 */
export async function catchUp({ answers, queries, progress, isStopped }: CatchUpOptions): Promise<void> {
  for (let shard = 0; shard < progress.shards; shard++) {
    const committed = progress.committed(shard);
    while (!(await progress.awaitProjected(shard, committed, LOOK_EVERY_MS))) if (isStopped()) return;
  }
  const sinceMs = answers.settledMs();
  for (let after: number | null = 0; after !== null; ) {
    const page = await queries.journaledKeys(sinceMs, after);
    await answers.note(page.keys);
    after = page.next;
  }
  answers.caughtUp();
}
