/**
 * Preloaded into a server, and by NODE_OPTIONS into each of its threads: timed waits and intervals end HURRY_TIMES as
 * soon, so that idle threads take the turns of an hour in less than a minute. Clocks are unchanged. Each thread counts
 * its turns in a file of its name in HURRY_DIRECTORY. While there is a file COLLECT it collects its garbage now and
 * then: the remaining memory is in use, or leaked.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread, threadName } from 'node:worker_threads';

const WRITTEN_TURNS = 200;

const times = Number(process.env.HURRY_TIMES);
const path = join(process.env.HURRY_DIRECTORY, isMainThread ? 'gateway' : threadName || 'unnamed');
const garbage = join(process.env.HURRY_DIRECTORY, 'COLLECT');
if (isMainThread) setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
let turns = 0;

function turn() {
  turns++;
  if (turns % WRITTEN_TURNS !== 0) return;
  if (existsSync(garbage)) collect();
  writeFileSync(path, String(turns));
}

const { wait } = Atomics;
Atomics.wait = (words, index, value, timeoutMs) => {
  turn();
  return wait(words, index, value, timeoutMs === undefined ? undefined : timeoutMs / times);
};

const { setInterval: every } = globalThis;
globalThis.setInterval = (task, ms, ...values) => {
  const counted = () => {
    turn();
    task(...values);
  };
  return every(counted, ms / times);
};
