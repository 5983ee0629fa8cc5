/**
 * A scope that ends with the tests of a file, even if several files run one after the other in a process (together.ts).
 * The `after` of node:test at the top of a file waits for the end of the process instead. This scope is for the top of
 * a file only, and refuses to be used elsewhere: inside a test the servers of later tests would end with that test, or
 * never.
 */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Scope } from './server.ts';

const cleanUps: (() => void | Promise<void>)[] = [];
let endsWithProcess = false;
/** Every test, suite and hook is called from here, and V8 reports this even for code after an await. */
const RUNNER_FRAME = /\(node:internal\/test_runner\/test:/;

export const fileScope: Scope = {
  after(cleanUp) {
    assert.ok(!isInTest(), 'fileScope is for the top of a file: a test has the scope of its own context');
    if (!endsWithProcess) after(endOfFile);
    endsWithProcess = true;
    cleanUps.push(cleanUp);
  },
};

/** The last thing that was made ends first. */
export async function endOfFile(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
}

/** False too where a timer or an event is what calls: the stack does not say which test has started it. */
function isInTest(): boolean {
  const usual = Error.stackTraceLimit;
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
  const { stack } = new Error();
  Error.stackTraceLimit = usual;
  return RUNNER_FRAME.test(stack ?? '');
}
