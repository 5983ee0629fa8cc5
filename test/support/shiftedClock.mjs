/**
 * Preloaded into a server: the clocks of all its threads differ from the real one by the milliseconds that are in the
 * file SHIFTED_CLOCK at that moment.
 */
import { readFileSync } from 'node:fs';

const { now } = Date;
Date.now = () => now() + Number(readFileSync(process.env.SHIFTED_CLOCK, 'latin1'));
