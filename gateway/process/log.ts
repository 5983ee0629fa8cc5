/**
 * The log: one JSON object a line on stdout. Fields that must never be logged (RULES.md 10.3) are redacted by name, as
 * a last line of defence: callers do not log bodies or headers in the first place.
 */
import pino, { type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from './config.ts';

export type { Logger };

const SECRET_NAMES = ['secret', 'secrets', 'passphrase', 'password', 'signature', 'authorization', 'body', 'rpcUrl'];

export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
