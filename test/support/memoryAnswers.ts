/** What keys were answered, in memory, for tests of what lies around the store. */
import type { KeyedAnswer, KeyPlace, StoredAnswer } from '../../gateway/idempotency/answerDb.ts';
import type { AnswerStore } from '../../gateway/idempotency.ts';

export class MemoryAnswers implements AnswerStore {
  isOpen = true;
  /** False lets answers wait in `waiting` until a test says that they are durable. */
  isPrompt = true;
  oldestInFlightMs = (nowMs: number): number => nowMs;
  readonly waiting: { readonly row: KeyedAnswer; readonly whenKept: (isKept: boolean) => void }[] = [];
  readonly #rows = new Map<string, KeyedAnswer>();

  find(place: KeyPlace): StoredAnswer | null {
    return this.#rows.get(nameOf(place)) ?? null;
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

function nameOf({ account, route, key }: KeyPlace): string {
  return `${account} ${route} ${Buffer.from(key).toString('hex')}`;
}
