/**
 * `node shared/run.mjs test/upgrade/makeCashOuts.ts OUT`, in a checkout of an earlier version: stores in OUT the rows
 * of cash-outs that were under way when its process was killed, at each point and on each rail, with the books or the
 * chain beside them. test/unit/gateway/fiat/upgrade.test.ts opens them with today's code.
 */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openControlDatabase } from '../../gateway/base/database.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { type CrashPoint, crashAt, walkOffRamp } from '../support/fiatCrashes.ts';
import { FiatRig } from '../support/fiatRig.ts';

const [out] = process.argv.slice(2);
if (out === undefined) throw new Error('usage: makeCashOuts.ts OUT');

const TABLES = ['fiat_sessions', 'fiat_intents', 'fiat_envelopes', 'fiat_claims', 'fiat_webhooks', 'rail_transactions'];
const POINTS = [
  'after the signature was stored',
  'before the envelope is stored',
  'after the envelope was stored',
  'after the broadcast',
  'before the debit',
  'after the debit',
  'before the confirmation is stored',
  'before an event is processed',
] as const satisfies readonly CrashPoint[];

async function leftAt(on: 'ledger' | 'evm', point: CrashPoint) {
  const directory = temporaryDirectory();
  const rig = new FiatRig({ on, directory });
  let left: object | null = null;
  crashAt(rig, point, () => {
    if (left === null) {
      const path = join(directory, 'left.db');
      for (const end of ['', '-wal']) copyFileSync(rig.path + end, path + end);
      const fileOf = (name: string) => {
        return existsSync(join(directory, name)) ? readFileSync(join(directory, name), 'utf8') : null;
      };
      const [books, chain] = [fileOf('books.json'), fileOf('chain.jsonl')];
      left = { on, point, nowMs: rig.nowMs, rows: rowsIn(path), books, chain: withoutIdleBlocks(chain) };
    }
    throw new Error('the process has ended');
  });
  await walkOffRamp(rig, () => left !== null);
  if (left === null) throw new Error(`${on}: ${point} was not reached`);
  return left;
}

function rowsIn(path: string): Record<string, object[]> {
  const database = openControlDatabase(path);
  const rows = TABLES.map((table) => [table, database.prepare<[], object>(`SELECT * FROM ${table}`).all()] as const);
  database.close();
  return Object.fromEntries(rows.filter(([, each]) => each.length > 0));
}

/** Of times that pass one after the other the last is enough: a block a second is made anyway. */
function withoutIdleBlocks(journal: string | null): string | null {
  const isPassing = (line: string | undefined) => line?.startsWith('{"passedMs"') === true;
  const lines = journal?.split('\n').filter((line, at, all) => !isPassing(line) || !isPassing(all[at + 1]));
  return lines?.join('\n') ?? null;
}

/** A column without a value is left out: it has none again when the row is written. */
function small(_key: string, value: unknown): unknown {
  return value === null ? undefined : value;
}

const left: object[] = [];
for (const on of ['ledger', 'evm'] as const) {
  for (const point of POINTS) if (on === 'ledger' || !point.includes('debit')) left.push(await leftAt(on, point));
}
writeFileSync(out, `[\n${left.map((each) => `  ${JSON.stringify(each, small)}`).join(',\n')}\n]\n`);
process.exit(0);
