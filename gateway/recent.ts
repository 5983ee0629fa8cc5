/**
 * Answers to questions that are asked in the same few ways over and over, kept within a bound: when it is full it
 * forgets all at once, and what is asked for often is soon back. Long questions are not kept, so the bound is one on
 * memory as well: about half a megabyte.
 * Owner: the gateway thread.
 */
const MOST = 1024;
const LONGEST = 120;

export class Recent<T> {
  readonly #answers = new Map<string, T>();

  get(question: string): T | undefined {
    return this.#answers.get(question);
  }

  keep(question: string, answer: T): void {
    if (question.length > LONGEST) return;
    if (this.#answers.size >= MOST) this.#answers.clear();
    this.#answers.set(question, answer);
  }
}
