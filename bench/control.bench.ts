/**
 * What do the checksums of rows add to a change of control.db? The same stores make the same changes, alternately in a
 * file with checksums and in one whose connection has no triggers for them. An account is a row of users, one of
 * wallets and one of grants; a deposit changes its row twice. Measured are the processor time of the thread as requests
 * use it, without the sync, and the time that a client waits, with the sync.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Accounts } from '../gateway/account/accounts.ts';
import { Movements } from '../gateway/account/movements.ts';
import { type ControlDatabase, openControlDatabase } from '../gateway/base/database.ts';
import { LaterSync } from '../gateway/base/laterSync.ts';
import { MOVEMENT } from '../shared/base/codes.ts';
import { atMost, median, type Report, type Row } from './report.ts';

const TURNS = 15;
const ACCOUNTS_OF_TURN = 400;
const SYNCED_OF_TURN = 60;
const NOW_MS = 1_800_000_000_000;
const AMOUNT_MICRO = 1_000_000;
const MOST_TIMES = 2;
const MOST_TIMES_SYNCED = 1.3;

type Side = { readonly name: string; readonly database: ControlDatabase; readonly changes: LaterSync } & Stores;
type Stores = { readonly accounts: Accounts; readonly movements: Movements };
type Turn = { readonly changeUs: number; readonly synced: number };

export async function run(): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'exchange-bench-'));
  const sides = [open(directory, 'with sums', true), open(directory, 'without', false)] as const;
  try {
    const turns: Turn[][] = [[], []];
    for (const side of sides) await turnOf(side, 0);
    for (let turn = 1; turn <= TURNS; turn++) {
      for (const [which, side] of sides.entries()) turns[which].push(await turnOf(side, turn));
    }
    return describe(sides, turns);
  } finally {
    for (const { database, changes } of sides) {
      changes.close();
      database.close();
    }
    rmSync(directory, { recursive: true });
  }
}

function open(directory: string, name: string, keepsSums: boolean): Side {
  const path = join(directory, `${keepsSums ? 'with' : 'without'}.db`);
  const database = openControlDatabase(path);
  if (!keepsSums) {
    const triggers = database.prepare<[], string>("SELECT name FROM sqlite_temp_schema WHERE type = 'trigger'");
    for (const trigger of triggers.pluck().all()) database.exec(`DROP TRIGGER temp.${trigger}`);
  }
  const changes = new LaterSync({ database, walPath: `${path}-wal` });
  const stores = { accounts: new Accounts(database, changes), movements: new Movements(database, changes) };
  return { name, database, changes, ...stores };
}

async function turnOf(side: Side, turn: number): Promise<Turn> {
  const { changes } = side;
  const before = process.cpuUsage();
  for (let n = 0; n < ACCOUNTS_OF_TURN; n++) change(side, turn * 10_000 + n);
  const { user, system } = process.cpuUsage(before);
  await changes.synced();
  changes.checkpoint();
  const startMs = performance.now();
  for (let n = 0; n < SYNCED_OF_TURN; n++) {
    change(side, turn * 10_000 + 5000 + n);
    await changes.synced();
  }
  const synced = ((performance.now() - startMs) * 1000) / SYNCED_OF_TURN;
  changes.checkpoint();
  return { changeUs: (user + system) / ACCOUNTS_OF_TURN, synced };
}

/** A new account, and a deposit to it. */
function change({ accounts, movements }: Side, n: number): void {
  const wallet = `0x${n.toString(16).padStart(40, '0')}`;
  const fields = { displayName: `trader ${n}`, email: null, role: 'user', referralCode: null, wallet } as const;
  const { index: account } = accounts.signUp(fields, NOW_MS);
  const deposit = {
    account,
    kind: MOVEMENT.DEPOSIT,
    amountMicro: AMOUNT_MICRO,
    reference: `deposit ${n}`,
    market: null,
  };
  movements.complete(movements.start(deposit, NOW_MS));
}

function describe(sides: readonly Side[], turns: readonly Turn[][]): Report {
  const rows: Row[] = sides.map(({ name }, which) => ({
    'control.db': name,
    'an account and a deposit, processor us': median(turns[which].map(({ changeUs }) => changeUs)),
    'the same, synced, us': median(turns[which].map(({ synced }) => synced)),
  }));
  const ratio = (of: (turn: Turn) => number): number => {
    return median(turns[0].map((turn, at) => of(turn) / of(turns[1][at])));
  };
  return {
    bench: 'control',
    settings: `${TURNS} turns of ${ACCOUNTS_OF_TURN} and ${SYNCED_OF_TURN} synced; medians`,
    rows,
    goals: [
      atMost(
        'processor time of a change with sums / without',
        ratio(({ changeUs }) => changeUs),
        MOST_TIMES,
      ),
      atMost(
        'time of a synced change with sums / without',
        ratio(({ synced }) => synced),
        MOST_TIMES_SYNCED,
      ),
    ],
  };
}
