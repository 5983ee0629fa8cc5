/**
 * The entry of a thread of the query pool: runs a query by its name (queryWorker.ts) and reports the processor time
 * that it took. Time by the clock would count against a reader whenever other work has the processor.
 */
import { answer } from './queryWorker.ts';

export type TimedQuery = { readonly name: string; readonly task: unknown };
export type TimedAnswer = { readonly value: unknown; readonly tookMs: number };

export default function timedQuery({ name, task }: TimedQuery): TimedAnswer {
  const before = process.threadCpuUsage();
  const value = answer(name, task);
  const { user, system } = process.threadCpuUsage(before);
  return { value, tookMs: (user + system) / 1000 };
}
