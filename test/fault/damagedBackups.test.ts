/**
 * Damages every kind of file of a folder of backups in every way and compares the results of the commands with
 * data/docs/damages.md. Whatever the entry is, an end with an error names file and next step, a command that lists or
 * restores changes nothing, no bytes leave the folder, and undamaged points restore to the same state as before.
 * `DAMAGES=points` runs the files with this in their name.
 */
import assert from 'node:assert/strict';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { type Backups, letterOf, makeBackups, pathIn, restoredRows } from '../support/damages/backups.ts';
import { DAMAGES } from '../support/damages/damages.ts';
import { AdminHost, hashesOf, removeCopy, type Seen } from '../support/damages/seen.ts';
import { type BackupRow, isSaid, rowsOfBackups } from '../support/damages/table.ts';
import { copyOf, makeWorld } from '../support/damages/world.ts';

const CELLS_AT_A_TIME = 3;
const NEXT_STEP = /npm run admin -- backups verify|--point|\bch(?:own|mod) |make a backup now/;
const COLUMNS = ['list', 'verify', 'restore', 'backup'] as const;
const skip = process.geteuid?.() === 0 ? false : 'needs root, to be another user';

type Cells = Record<(typeof COLUMNS)[number], string>;
type Outcome = { readonly cells: Cells; readonly texts: string; readonly wrong: readonly string[] };

function wordOf({ code, text }: Seen): string {
  if (code !== 0) return 'names it';
  return /^problem: /m.test(text) ? 'ok, says so' : 'ok';
}

/** Names of files: the lock, and folders of parts on their way, are of a command. */
function keptIn(folder: string): ReadonlyMap<string, string> {
  return new Map([...hashesOf(folder)].filter(([name]) => /^(?:points|objects)\//.test(name)));
}

/** @param directory a copy of the data directory, for the backups of this row */
async function see(backups: Backups, host: AdminHost, row: BackupRow, directory: string): Promise<Outcome> {
  const wrong: string[] = [];
  const path = pathIn(backups.whole, row.file, letterOf(row.file));
  const damaged = (): string => {
    const copy = copyOf(backups.whole);
    DAMAGES[row.damage]!(join(copy, path), path, backups);
    return copy;
  };
  const folder = damaged();
  const before = keptIn(folder);
  const list = await host.run(directory, 'backups', 'list', folder);
  const { seen: restore, rows } = await restoredRows(host, folder);
  assert.deepEqual([...keptIn(folder)], [...before], `${row.file}, ${row.damage}: list or restore changes the folder`);
  const restoredPoint = /^point (\S+)$/m.exec(restore.text)?.[1];
  if (rows !== null && !isSame(rows, backups.rows.get(restoredPoint!)))
    wrong.push('restore: something else comes back');
  const backup = await host.run(directory, 'backup', folder);
  const second = damaged();
  const verify = await host.run(directory, 'backups', 'verify', second);
  const after = await host.run(directory, 'backup', second);
  const again = await host.run(directory, 'backups', 'verify', second);
  const isRefused = /\bch(?:own|mod) /.test(verify.text);
  if (verify.code !== 0 && !isRefused && (after.code !== 0 || again.code !== 0))
    wrong.push(`verify and a backup do not mend it: ${after.text}\n${again.text}`);
  for (const [what, store] of Object.entries({ backup: folder, verify: second })) {
    const left = new Set(keptIn(store).values());
    for (const [name, hash] of before) if (!left.has(hash)) wrong.push(`${what}: the bytes of ${name} are gone`);
  }
  const others = [...backups.rows].filter(([name]) => !path.includes(name));
  const [name, expected] = others.at(row.file.startsWith('points/') ? -1 : 0)!;
  const whole = await restoredRows(host, second, '--point', name);
  if (whole.rows === null || !isSame(whole.rows, expected)) wrong.push(`point ${name}: ${whole.seen.text}`);
  for (const [what, { code, text }] of Object.entries({ list, verify, restore, backup })) {
    if (/^ {4}at /m.test(text)) wrong.push(`${what}: a stack`);
    if (code !== 0 && !text.includes(basename(path))) wrong.push(`${what}: no word about ${path}`);
    if (code !== 0 && !NEXT_STEP.test(text)) wrong.push(`${what}: no next step`);
  }
  const seen = { list, verify, restore, backup };
  for (const each of [folder, second]) removeCopy(each);
  const cells = Object.fromEntries(COLUMNS.map((what) => [what, wordOf(seen[what])])) as Cells;
  const texts = Object.entries(seen).map(([what, { code, text }]) => `${what} (${code}): ${text}`);
  return { cells, wrong, texts: texts.join('\n') };
}

function isSame(some: ReadonlySet<string>, others: ReadonlySet<string> | undefined): boolean {
  return others !== undefined && some.size === others.size && [...some].every((each) => others.has(each));
}

test('every command does what the table says of each damage to a folder of backups, and loses nothing', {
  skip,
}, async (t) => {
  const table = rowsOfBackups();
  const files = [...new Set(table.map(({ file }) => file))];
  assert.ok(files.length > 0);
  for (const file of files) {
    const damages = table.filter((row) => row.file === file).map(({ damage }) => damage);
    assert.deepEqual(damages, Object.keys(DAMAGES), `every damage of ${file}`);
  }
  const world = await makeWorld(t);
  const backups = await makeBackups(new AdminHost(t), world, files);
  const parts = (process.env['DAMAGES'] ?? '').split(',');
  const left = table.filter(({ file }) => parts.some((part) => file.includes(part)));
  const wrong: string[] = [];
  const run = async (): Promise<void> => {
    const host = new AdminHost(t);
    const directory = copyOf(world.whole);
    for (let row = left.shift(); row !== undefined; row = left.shift()) {
      const { cells, texts, wrong: found } = await see(backups, host, row, directory);
      const entry: BackupRow = row;
      const differing = COLUMNS.filter((what) => cells[what] !== entry[what]).map((what) => {
        return `${what}: ${cells[what]}, not ${entry[what]}`;
      });
      if (row.says !== '' && !isSaid(row.says, texts)) differing.push(`nothing says ${row.says}`);
      const all = [...differing, ...found];
      if (all.length > 0) wrong.push(`${row.file}, ${row.damage}: ${all.join('; ')}\n${texts}`);
    }
  };
  await Promise.all(Array.from({ length: CELLS_AT_A_TIME }, run));
  assert.deepEqual(wrong, [], wrong.join('\n\n'));
});
