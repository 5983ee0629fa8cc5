/** The public history of an exchange: its files, and whether they are right. */
import { once } from 'node:events';
import { createWriteStream, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  HISTORY_FORMATS,
  HISTORY_TABLE_NAMES,
  type HistoryFile,
  type HistoryTable,
  historyPath,
} from '../../../base/historyTables.ts';
import { recordingOf } from '../../history/recordingOf.ts';
import { command } from '../frame/command.ts';
import { MARKET_WORDS } from '../frame/marketNames.ts';
import { downloadDay } from '../history/download.ts';
import { fileRows, verifyDay } from '../history/verifyDay.ts';

const verify = command({
  name: 'history verify',
  summary: 'Check files of the history: their sums, and each book, rebuilt from its orders',
  details:
    'FOLDER is that of a day, or one with folders of days. What was not downloaded is not checked; a book needs ' +
    'book_events.csv.gz and books.csv.gz, of its market or of all.',
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

const download = command({
  name: 'history download',
  summary: 'Download days of the history, and check each file before it gets its name',
  details:
    'Without days, all that there are. Those for all markets are fetched, or with --market those of one. ' +
    'A run that was ended goes on where it was. FOLDER is then as `history verify` and `history recording` take it.',
  access: 'anyone',
  arguments: {
    folder: { description: 'the folder in which the days are, or will be', file: true },
    days: { description: 'days, as in 2026-11-30', many: true, optional: true },
  },
  options: {
    from: { value: 'day', description: 'from this day on' },
    to: { value: 'day', description: 'up to this day' },
    market: { value: 'market', description: `of this market alone: ${MARKET_WORDS}` },
    table: { value: 'name', description: 'only these tables', choices: HISTORY_TABLE_NAMES, many: true },
    format: { value: 'name', description: 'or all', choices: [...HISTORY_FORMATS, 'all'], fallback: 'csv.gz' },
  },
  examples: [
    'history download history --from 2026-11-01',
    'history download history 2026-11-30 --market MARKET',
    'history download history --table trades --table candles --format parquet',
  ],
  json: 'a list of `{day, files, bytes, there}`: what was fetched, and how many files were there already',
  run: async (context, { folder, days = [], from = '', to = '9', market, table = [], format }) => {
    const { history } = await context.reader();
    const known = (await history.days()).days.map(({ day }) => day);
    const missing = days.find((day) => !known.includes(day));
    if (missing !== undefined) throw new Error(`the history has no day ${missing}`);
    const marketId = market === undefined ? null : await context.marketId(market);
    const isWanted = (file: HistoryFile): boolean =>
      file.market_id === marketId &&
      (table.length === 0 || table.includes(file.table)) &&
      (format === 'all' || format === file.format);
    const wanted = known.filter((day) => (days.length === 0 || days.includes(day)) && day >= from && day <= to);
    const value = [];
    for (const day of wanted) value.push(await downloadDay(history, day, folder, isWanted));
    const lines = value.map(
      ({ day, files, bytes, there }) => `${day}  ${files} files fetched, ${bytes} bytes; ${there} were there`,
    );
    return { value, lines };
  },
});

export const HISTORY = [download, verify, recording];
