/**
 * Fills every cell of a row of the tables of data/docs/damages.md with what was seen, and lists what no entry allows.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Scope } from '../server.ts';
import { DAMAGES, nameIn } from './damages.ts';
import { readable } from './readable.ts';
import { AdminHost, hashesOf, removeCopy, type Seen, start } from './seen.ts';
import { isSaid, type Row } from './table.ts';
import { copyOf, type World } from './world.ts';

const NEXT_STEP =
  /npm run admin -- |control repair|put .*back|restore the data|in its place|the next start|\bch(?:own|mod) /;

type Cells = Pick<Row, 'start' | 'verify' | 'audit' | 'repair'>;
type Outcome = { readonly cells: Cells; readonly texts: string; readonly wrong: readonly string[] };

/** The words of the tables for the observed results. */
function wordOf(what: keyof Cells, { code, text }: Seen, accepted?: Seen): string {
  if (what === 'start') {
    if (code !== 0) return 'refused';
    if (!text.includes('tells the same')) return 'loses';
    return text.includes('ready 503') ? 'not ready' : text.split('\n').length > 2 ? 'runs, says so' : 'runs';
  }
  if (what === 'verify') return code === 0 ? 'ok' : 'names it';
  if (what === 'audit')
    return code === 0
      ? 'balanced'
      : text.includes('ordered') || text.includes('no journal has')
        ? 'differs'
        : 'names it';
  if (code === 0) return /nothing to repair/.test(text) ? 'nothing to do' : 'repaired';
  return accepted?.code === 0 ? 'asks' : 'cannot';
}

async function see(world: World, host: AdminHost, row: Row): Promise<Outcome> {
  const wrong: string[] = [];
  const family = basename(row.file)
    .replace(/-wal$|\.mark$/, '')
    .replace(/-(?:\d+|[MN]\.bin)$/, '');
  const damaged = (): string => {
    const copy = copyOf(world.whole);
    const name = nameIn(copy, row.file);
    DAMAGES[row.damage]!(join(copy, name), name, world);
    return copy;
  };
  const explained = (what: string, { code, text }: Seen): void => {
    if (/^ {4}at /m.test(text)) wrong.push(`${what}: a stack`);
    if (code !== 0 && !text.includes(family)) wrong.push(`${what}: no word about ${family}`);
    if (code !== 0 && !NEXT_STEP.test(text)) wrong.push(`${what}: no next step`);
  };
  const copy = damaged();
  const before = hashesOf(copy);
  const rows = readable(copy);
  const lost = (what: string, directory: string): void => {
    const now = readable(directory);
    const missing = [...rows].filter((each) => !now.has(each) && !world.changing.has(each));
    if (missing.length > 0) wrong.push(`${what}: ${missing.length} rows are lost, such as ${missing[0]}`);
  };
  const verify = await host.run(copy, 'journal', 'verify');
  const audit = await host.run(copy, 'audit');
  const now = hashesOf(copy);
  for (const [name, hash] of before) if (now.get(name) !== hash) wrong.push(`a check changes ${name}`);
  const repair = await host.run(copy, ...row.command);
  const accepted = repair.code === 0 ? undefined : await host.run(copy, ...row.command, '--accept-loss');
  lost('repair', copy);
  const second = damaged();
  const started = await (world.start ?? start)(second, world);
  lost('start', second);
  const cells = {
    start: wordOf('start', started),
    verify: wordOf('verify', verify),
    audit: wordOf('audit', audit),
    repair: wordOf('repair', repair, accepted),
  };
  if (cells.start === 'refused' && (cells.repair === 'repaired' || cells.repair === 'asks')) {
    const again = await (world.start ?? start)(copy, world);
    if (again.code !== 0) wrong.push(`after the repair it does not start: ${again.text}`);
  }
  for (const [what, seen] of Object.entries({ start: started, verify, audit, repair })) explained(what, seen);
  removeCopy(copy);
  removeCopy(second);
  const texts = Object.entries({ start: started, verify, audit, repair, ...(accepted && { accepted }) });
  return { cells, wrong, texts: texts.map(([what, { code, text }]) => `${what} (${code}): ${text}`).join('\n') };
}

function writeSeen(outcomes: ReadonlyMap<Row, Outcome>): void {
  const path = process.env['DAMAGES_SEEN'];
  if (path !== undefined)
    writeFileSync(path, JSON.stringify([...outcomes].map(([row, seen]) => ({ ...row, ...seen }))));
}

/** @param atATime rows that are seen side by side */
export async function compareRows(scope: Scope, world: World, table: readonly Row[], atATime: number): Promise<void> {
  const parts = (process.env['DAMAGES'] ?? '').split(',');
  const rows = table.filter(({ file }) => parts.some((part) => file.includes(part)));
  const left = [...rows];
  const outcomes = new Map<Row, Outcome>();
  const run = async (): Promise<void> => {
    const host = new AdminHost(scope, world.settings);
    for (let row = left.shift(); row !== undefined; row = left.shift()) {
      outcomes.set(row, await see(world, host, row));
      writeSeen(outcomes);
    }
  };
  await Promise.all(Array.from({ length: atATime }, run));
  const wrong = rows.flatMap((row) => {
    const { cells, texts, wrong: found } = outcomes.get(row)!;
    const differing = (Object.keys(cells) as (keyof Cells)[])
      .filter((what) => row[what] !== cells[what])
      .map((what) => `${what}: ${cells[what]}, not ${row[what]}`);
    if (row.says !== '' && !isSaid(row.says, texts)) differing.push(`nothing says ${row.says}`);
    const all = [...differing, ...found];
    return all.length === 0 ? [] : [`${row.file}, ${row.damage}: ${all.join('; ')}\n${texts}`];
  });
  assert.deepEqual(wrong, [], wrong.join('\n\n'));
}

/** Each file has every damage: a log comes with its file. */
export function assertEveryDamage(table: readonly Row[]): void {
  for (const file of new Set(table.map((row) => row.file))) {
    const damages = table.filter((row) => row.file === file).map(({ damage }) => damage);
    const all = Object.keys(DAMAGES).filter((damage) => !file.endsWith('-wal') || !/exchange's|older/.test(damage));
    assert.deepEqual(damages, all, `every damage of ${file}`);
  }
}
