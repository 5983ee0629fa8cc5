/** The public history of an exchange: its files, and whether they are right. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { command } from '../frame/command.ts';
import { verifyDay } from '../history/verifyDay.ts';

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

export const HISTORY = [verify];
