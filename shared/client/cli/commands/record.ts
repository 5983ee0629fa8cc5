/** Writes the frames of a market to a file, as they arrive, until Ctrl-C. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { record as recordBook } from '../../stream/recording.ts';
import { command } from '../frame/command.ts';
import { MARKET_WORDS } from '../frame/marketNames.ts';
import { untilInterrupted } from '../frame/terminal.ts';

/** The number of frames that may wait for the disk. */
const LIMIT = 100_000;

const record = command({
  name: 'record',
  summary: 'Write every frame of a market to a file, with its time of arrival',
  details: '`npm run replay` serves such a file as the stream it was. The file must not exist. Ctrl-C ends it.',
  access: 'anyone',
  arguments: { market: { description: MARKET_WORDS }, file: { description: 'a new file', file: true } },
  examples: ['record MARKET day.ndjson'],
  json: '`{file, lines}` at the end',
  run: async (context, { market: named, file }) => {
    const market = await context.marketId(named);
    const { ticks_per_unit: ticksPerUnit } = await (await context.reader()).tickSize(market);
    const out = createWriteStream(file, { flags: 'wx' });
    await once(out, 'open');
    const stream = await context.stream({ isPrivate: false });
    const book = stream.openBook(market, { verify: 'every', limit: LIMIT });
    void untilInterrupted(context.terminal).then(() => book.close());
    let lines = 0;
    try {
      await recordBook(book, { url: context.baseUrl, ticksPerUnit }, context.terminal.clock, async (line) => {
        lines++;
        if (!out.write(line)) await once(out, 'drain');
      });
    } finally {
      stream.close();
      out.end();
      await once(out, 'close');
    }
    return { value: { file, lines }, lines: [`${lines} lines in ${file}`] };
  },
});

export const RECORD = [record];
