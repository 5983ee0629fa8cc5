/** The answers of idempotency keys in memory, for tests of the code around the store. */
import type { KeyedAnswer, KeyUse } from '../../gateway/shardlink/answerBatch.ts';
import type { StoredAnswer } from '../../gateway/shardlink/answerDb.ts';
import type { AnswerStore } from '../../gateway/shardlink/idempotencyStage.ts';

export class MemoryAnswers implements AnswerStore {
  isOpen = true;
  isDiskFull = false;
  /** False lets answers wait in `waiting` until a test says that they are durable. */
  isPrompt = true;
  readonly waiting: { readonly row: KeyedAnswer; readonly whenKept: (isKept: boolean) => void }[] = [];
  readonly #rows = new Map<string, KeyedAnswer>();

  find(use: KeyUse): StoredAnswer | null {
    return this.#rows.get(nameOf(use)) ?? null;
  }

  keep(row: KeyedAnswer, whenKept: (isKept: boolean) => void): void {
    if (!this.isPrompt) {
      this.waiting.push({ row, whenKept });
      return;
    }
    this.#rows.set(nameOf(row), row);
    whenKept(true);
  }
}

function nameOf({ account, key }: KeyUse): string {
  return `${account} ${Buffer.from(key).toString('hex')}`;
}
