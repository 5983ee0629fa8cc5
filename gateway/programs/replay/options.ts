/** The command line of `npm run replay`. */
import { parseArgs } from 'node:util';

export type ReplayOptions = {
  readonly file: string;
  /** 1 is as recorded; infinite is at once. */
  readonly speed: number;
  /** Null prints the frames. */
  readonly port: number | null;
};

const MOST_PORT = 65_535;

/** Throws an error that says what is wrong. */
export function replayOptions(args: readonly string[]): ReplayOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { speed: { type: 'string', default: '1' }, port: { type: 'string' } },
    allowPositionals: true,
  });
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new Error('one FILE is needed');
  const speed = values.speed === 'max' ? Number.POSITIVE_INFINITY : Number(values.speed);
  if (!(speed > 0)) throw new Error('--speed is a number above 0, or max');
  const port = values.port === undefined ? null : Number(values.port);
  if (port !== null && !(Number.isInteger(port) && port >= 0 && port <= MOST_PORT)) throw new Error('--port is a port');
  return { file, speed, port };
}
