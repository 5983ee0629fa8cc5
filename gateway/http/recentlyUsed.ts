/**
 * The answers to questions that repeat, kept within a bound: when the cache is full it is emptied at once, and frequent
 * questions are soon in it again. Long questions are not kept, which bounds the memory as well: about half a megabyte.
 * Owner: the gateway thread.
 */
const MAX_ANSWERS = 1024;
const MAX_QUESTION_LENGTH = 120;

export class RecentlyUsed<T> {
  readonly #answers = new Map<string, T>();

  get(question: string): T | undefined {
    return this.#answers.get(question);
  }

  keep(question: string, answer: T): void {
    if (question.length > MAX_QUESTION_LENGTH) return;
    if (this.#answers.size >= MAX_ANSWERS) this.#answers.clear();
    this.#answers.set(question, answer);
  }
}
