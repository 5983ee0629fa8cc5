/** `npm run record`: writes the frames of a market to a file until it is interrupted. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { parseArgs } from 'node:util';
import { systemClock } from '../../base/clock.ts';
import { ExchangeStream } from '../stream/exchangeStream.ts';
import { record } from '../stream/recording.ts';

const USAGE = `Usage:
  npm run record -- --market <id> --out FILE [--url http://127.0.0.1:8080]
      every frame of the market with its time of arrival, a JSON line each, until Ctrl-C; FILE must not exist`;
const DEFAULT_URL = 'http://127.0.0.1:8080';
const EXIT_USAGE = 64;
/** Frames that may wait for the disk. */
const LIMIT = 100_000;

function options(): { market: string; out: string; url: string } {
  const { values } = parseArgs({
    options: { market: { type: 'string' }, out: { type: 'string' }, url: { type: 'string', default: DEFAULT_URL } },
  });
  const { market, out, url } = values;
  if (market === undefined || out === undefined) throw new Error('--market and --out are needed');
  if (!URL.canParse(url)) throw new Error(`${url} is not a base address`);
  return { market, out, url };
}

async function run({ market, out, url }: ReturnType<typeof options>): Promise<void> {
  const file = createWriteStream(out, { flags: 'wx' });
  await once(file, 'open');
  const stream = new ExchangeStream({ baseUrl: url });
  const book = stream.openBook(market, { verify: 'every', limit: LIMIT });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => book.close());
  let lines = 0;
  try {
    await record(book, url, systemClock, async (line) => {
      lines++;
      if (!file.write(line)) await once(file, 'drain');
    });
  } finally {
    stream.close();
    file.end();
    await once(file, 'close');
    console.error(`${lines} lines in ${out}`);
  }
}

try {
  const chosen = options();
  await run(chosen).catch((error) => {
    console.error(`error: ${error.message}`);
    process.exitCode = 1;
  });
} catch (error) {
  console.error(`error: ${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = EXIT_USAGE;
}
