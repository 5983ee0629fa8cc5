/**
 * Loaded into a server by `--import`: on SIGUSR2 its gateway thread writes `LOG_FLOOD_LINES` lines of the log, a few in
 * each turn, by signalling again and again that a file has changed which is missing (`ADMIN_TOKEN_FILE`, RULES.md
 * 9.50).
 */
import { isMainThread } from 'node:worker_threads';

const LINES_IN_TURN = 10;
const lines = Number(process.env.LOG_FLOOD_LINES);

function write(left) {
  for (let at = 0; at < Math.min(left, LINES_IN_TURN); at++) process.emit('SIGHUP');
  if (left > LINES_IN_TURN) setTimeout(write, 1, left - LINES_IN_TURN);
}

if (isMainThread) process.on('SIGUSR2', () => write(lines));
