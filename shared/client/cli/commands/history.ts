/** The public history of an exchange: its files, and whether they are right. */
import { once } from 'node:events';
import { createWriteStream, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type HistoryTable, historyPath } from '../../../base/historyTables.ts';
import { recordingOf } from '../../history/recordingOf.ts';
import { command } from '../frame/command.ts';
import { fileRows, verifyDay } from '../history/verifyDay.ts';

const verify = command({
  name: 'history verify',
  summary: 'Check files of the history: their sums, and each book, rebuilt from its orders',
  details:
    'FOLDER is that of a day, or one with folders of days. What was not downloaded is not checked; a book needs ' +
    'book_events.csv.gz and books.csv.gz of its market.',
  access: 'anyone',
  arguments: { folder: { description: 'a folder with manifest.json, or one of such folders', file: true } },
  examples: ['history verify history/2026-11-30'],
  json: 'a list of `{day, files, markets, events, books, problems[]}`',
  run: async (_, { folder }) => {
    const days = existsSync(join(folder, 'manifest.json'))
      ? [folder]
      : readdirSync(folder)
          .map((name) => join(folder, name))
          .filter((path) => existsSync(join(path, 'manifest.json')))
          .sort();
    if (days.length === 0) throw new Error(`${folder} has no manifest.json: it is no folder of a history`);
    const value = [];
    for (const day of days) value.push(await verifyDay(day));
    const wrong = value.flatMap(({ day, problems }) => problems.map((problem) => `${day}: ${problem}`));
    if (wrong.length > 0) throw new Error(wrong.join('\n'));
    const lines = value.map(
      ({ day, files, markets, events, books }) =>
        `${day}  ${files} files, ${markets} markets, ${events} events, ${books} books: all as the history says`,
    );
    return { value, lines };
  },
});

const recording = command({
  name: 'history recording',
  summary: 'Make a recording of a market out of the history, for `npm run replay` and `npm run backtest`',
  details: 'FOLDER is that of a day, with trades.csv.gz and book_events.csv.gz of the market. FILE must not exist.',
  access: 'anyone',
  arguments: {
    folder: { description: 'the folder of a day', file: true },
    market: { description: 'the id of the market' },
    file: { description: 'a new file', file: true },
  },
  examples: ['history recording history/2026-11-30 MARKET day.ndjson'],
  json: '`{file, lines}`',
  run: async (_, { folder, market, file }) => {
    const marketId = market.toLowerCase();
    const pathOf = (table: HistoryTable) => join(folder, historyPath(table, 'csv.gz', marketId));
    const events = fileRows(pathOf('book_events'), 'book_events');
    // A market without a trade has no such file.
    const trades = existsSync(pathOf('trades')) ? fileRows(pathOf('trades'), 'trades') : noTrades();
    const out = createWriteStream(file, { flags: 'wx' });
    await once(out, 'open');
    let lines = 0;
    for await (const line of recordingOf({ marketId, url: folder }, trades, events)) {
      lines++;
      if (!out.write(line)) await once(out, 'drain');
    }
    out.end();
    await once(out, 'close');
    return { value: { file, lines }, lines: [`${lines} lines in ${file}`] };
  },
});

async function* noTrades(): AsyncGenerator<never> {}

export const HISTORY = [verify, recording];
