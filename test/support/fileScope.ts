/**
 * A scope that ends with the tests of a file, also where several files run one after the other in a process
 * (together.ts). The `after` of node:test at the top of a file waits for the end of the process instead. This scope is
 * for the top of a file only: inside a test it would end with that test.
 */
import { after } from 'node:test';
import type { Scope } from './server.ts';

const cleanUps: (() => void | Promise<void>)[] = [];
let endsWithProcess = false;

export const fileScope: Scope = {
  after(cleanUp) {
    if (!endsWithProcess) after(endOfFile);
    endsWithProcess = true;
    cleanUps.push(cleanUp);
  },
};

/** The last thing that was made ends first. */
export async function endOfFile(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
}
