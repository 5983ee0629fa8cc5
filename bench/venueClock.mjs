/**
 * Preloaded into a server whose months take minutes: the clocks of its threads are ahead of the real one by the
 * milliseconds in the file VENUE_CLOCK. It is read again after some real time, because each order asks for the time.
 */
import { readFileSync } from 'node:fs';

const READ_EVERY_MS = 20;
const { now } = Date;
let aheadMs = 0;
let readAtMs = -Infinity;
Date.now = () => {
  const atMs = performance.now();
  if (atMs - readAtMs >= READ_EVERY_MS) {
    readAtMs = atMs;
    aheadMs = Number(readFileSync(process.env.VENUE_CLOCK, 'latin1'));
  }
  return now() + aheadMs;
};
