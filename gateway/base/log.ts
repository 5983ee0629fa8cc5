/**
 * The log: one JSON object per line on stdout, which no reader can block (lineOutput.ts). Fields that must never be
 * logged (RULES.md 10.3) are redacted by name, as a last line of defence: callers do not log bodies or headers in the
 * first place.
 */
import { isMainThread } from 'node:worker_threads';
import pino, { type DestinationStream, type Logger } from 'pino';
import { assert } from '../../shared/base/assert.ts';
import type { LogLevel } from './config.ts';
import { LineOutput, writerOf } from './lineOutput.ts';

export type { Logger };

const SECRET_NAMES = ['secret', 'secrets', 'passphrase', 'password', 'signature', 'authorization', 'body', 'rpcUrl'];
const GAP = 'lines of the log are missing here: they were not read in time';
const NOWHERE: DestinationStream = { write: () => {} };

/**
 * Opens standard output and standard error of the process. From here on a full pipe or socket refuses bytes instead of
 * blocking the thread that writes them, even for bytes that Node itself writes; files and terminals stay as they were.
 */
export function openOutputs(): { readonly out: LineOutput; readonly err: LineOutput } {
  assert(isMainThread, 'log: the gateway thread alone writes lines');
  // The first use of these objects makes pipes and sockets non-blocking. A reader that has gone ends nothing.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const gapLine = (lines: number): string => {
    return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines, msg: GAP })}\n`;
  };
  const out = new LineOutput(writerOf(1), gapLine);
  const err = new LineOutput(writerOf(2), (lines) => `${lines} lines are missing\n`);
  process.on('exit', () => {
    err.flush();
    out.flush();
  });
  return { out, err };
}

export function createLogger(level: 'silent'): Logger;
/** @param destination gets whole lines: a LineOutput, or an object that sends them to the thread with the LineOutput */
export function createLogger(level: LogLevel, destination: DestinationStream): Logger;
export function createLogger(level: LogLevel, destination: DestinationStream = NOWHERE): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
  };
  return pino(options, destination);
}
