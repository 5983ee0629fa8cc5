/**
 * Preloaded into a server: on SIGUSR2 the clock of its gateway thread is moved by the milliseconds that are in the file
 * MOVED_CLOCK, against the real one. It says so in a line, once it is.
 */
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const { now } = Date;
  let byMs = 0;
  Date.now = () => now() + byMs;
  process.on('SIGUSR2', () => {
    byMs = Number(readFileSync(process.env.MOVED_CLOCK, 'latin1'));
    process.stdout.write(`${JSON.stringify({ msg: 'the test has moved the clock', by_ms: byMs })}\n`);
  });
}
