/**
 * What does an account cost that exists, and does an exchange with very many start and answer? Each account has a
 * wallet and a balance, a tenth of them an open order: the memory of the process for one more account, by thread, the
 * start, the snapshot, and how long one account with a thousand orders waits for `cancel-all`.
 *
 * Memory is that of an exchange with the accounts less that of one without. There are 100,000, as many as `--accounts`
 * says, or with `--full` ten million, for which the machine needs 16 GB and the temporary directory 40 GB.
 */
import { statSync } from 'node:fs';
import { ExchangeClient } from '../shared/client/client.ts';
import { temporaryDirectory } from '../test/support/directory.ts';
import { type Scope, TestServer } from '../test/support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../test/support/traders.ts';
import { type Made, makeAccounts, makeBalances } from './accountsExchange.ts';
import { processSeconds, residentBytes, whenIdle } from './processStat.ts';
import { atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const OF_TRADER = 1000;
const MOST_BYTES = 1500;
const MOST_START_SECONDS = 60;

type Memory = ReadonlyMap<string, number>;

export async function run({ isFull = false, accounts: asked = undefined }: Options = {}): Promise<Report> {
  const accounts = asked ?? (isFull ? 10_000_000 : 100_000);
  const made: Made = { accounts, withOrder: Math.floor(accounts / 10), ofTrader: OF_TRADER };
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope: Scope = { after: (cleanUp) => void cleanUps.push(cleanUp) };
  const steal = new StealMeter();
  try {
    const server = new TestServer(temporaryDirectory(), '1');
    scope.after(() => server.kill());
    await server.start();
    const trader = await makeTrader(server);
    await makeMarket(server, { min_order_size_atomic: '1000000' });
    await whenIdle(server.pid!);
    const before = await memoryOf(server);
    await server.stop();
    makeAccounts(server.dataDir, made);
    const snapshot = await makeBalances(server.dataDir, made);
    const startMs = performance.now();
    await server.start();
    const startSeconds = (performance.now() - startMs) / 1000;
    const startProcessor = processSeconds(server.pid!);
    await whenIdle(server.pid!);
    const after = await memoryOf(server);
    const cancelMs = await cancelAll(server, trader);
    const bytes = (after.get(ALL)! - before.get(ALL)!) / accounts;
    const rows: Row[] = [...after].map(([what, now]) => ({
      what,
      'bytes an account': Math.round((now - (before.get(what) ?? 0)) / accounts),
      MB: Math.round(now / 1e6),
    }));
    rows.push({ what: 'start until it answers, seconds', figure: startSeconds });
    rows.push({ what: 'the same, seconds of processor time of all threads', figure: startProcessor });
    rows.push({ what: 'the snapshot of the shard, bytes an account', figure: statSync(snapshot).size / accounts });
    rows.push({ what: `cancel-all of ${OF_TRADER} orders, ms`, figure: cancelMs, [STOLEN]: steal.percent() });
    return {
      bench: 'accounts',
      settings: `${accounts.toLocaleString('en')} accounts with a wallet and a balance, a tenth with an order; 1 shard`,
      rows,
      goals: [
        atMost('bytes of the process for an account', bytes, MOST_BYTES),
        atMost('seconds of a start', startSeconds, MOST_START_SECONDS),
      ],
    };
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

type Options = { readonly isFull?: boolean; readonly accounts?: number | undefined };

const ALL = 'all together, resident';

/** By what each thread says of itself: the used part of its heap, and memory outside of it. */
async function memoryOf(server: TestServer): Promise<Memory> {
  const response = await fetch(`${server.adminUrl}/metrics`, {
    headers: { authorization: `Bearer ${server.adminToken}` },
  });
  const memory = new Map<string, number>();
  const form = /^exchange_thread_memory_bytes\{([^}]*)\} ([0-9.e+]+)$/gm;
  for (const [, labels, value] of (await response.text()).matchAll(form)) {
    if (/kind="(used|external)"/.test(labels)) memory.set(labels.replaceAll('"', ''), Number(value));
  }
  memory.set(ALL, residentBytes(server.pid!));
  return memory;
}

async function cancelAll(server: TestServer, { credentials }: Trader): Promise<number> {
  const client = new ExchangeClient({ baseUrl: server.baseUrl, credentials });
  const startMs = performance.now();
  await client.cancelAll();
  return performance.now() - startMs;
}
