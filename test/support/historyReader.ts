/** The history of accounts as its routes answer it, from a read.db and in the test's own thread. */
import type Database from 'better-sqlite3';
import { ActivityQueries } from '../../gateway/account/activityQueries.ts';
import { historyRoutes } from '../../gateway/account/historyRoutes.ts';
import { OrderLists } from '../../gateway/account/orderListsQueries.ts';
import { TradeQueries } from '../../gateway/account/tradeQueries.ts';
import { accountOf, type OfAccount } from '../../gateway/base/reads.ts';
import { compileQuery } from '../../gateway/http/validate.ts';
import { TestCall } from './calls.ts';
import type { Json } from './server.ts';

type Answer = { readonly status: number; readonly body: Json };
const found = <T>(value: T) => Promise.resolve({ ok: true as const, value });

/** The label that every market has for an outcome. */
export const labelOf = (outcome: number): string => ['It rains', 'It stays dry'][outcome]!;

export class HistoryReader {
  readonly #routes;

  constructor(db: Database.Database) {
    const orders = new OrderLists(db);
    const trades = new TradeQueries(db);
    const activity = new ActivityQueries(db);
    const lists = {
      userTrades: trades.list.bind(trades),
      legacyTrades: trades.legacyList.bind(trades),
      userActivity: activity.list.bind(activity),
    };
    const queries: Parameters<typeof historyRoutes>[0]['queries'] = {
      userOrders: (asker, filters) => {
        const page = orders.list(accountOf(asker), filters);
        return found({ ...page, rows: page.rows.map(({ record }) => record) });
      },
      newestOrders: (asker, limit) => found(orders.newest(accountOf(asker), limit).map(({ record }) => record)),
      ofAccount: ((
        _asker: OfAccount,
        name: keyof typeof lists,
        { account, filters }: { account: number; filters: never },
      ) => found(lists[name](account, filters))) as never,
    };
    const market = { details: { outcomes: [labelOf(0), labelOf(1)] } };
    this.#routes = historyRoutes({ queries, catalog: { byIndex: () => market as never } });
  }

  /** The path has a query string, if any. */
  async get(account: number, target: string): Promise<Answer> {
    const [path = '', rawQuery = ''] = target.split('?');
    const route = this.#routes.find((candidate) => candidate.path === path)!;
    const test = new TestCall({ method: 'GET', path, query: rawQuery, account });
    const checked = compileQuery(route.query ?? { type: 'object', properties: {} }, true)(rawQuery);
    if (!checked.ok) return { status: 400, body: { error: checked.invalid.message } };
    test.call.query = checked.query;
    await route.handler(test.call);
    return { status: test.status, body: test.json };
  }

  /** The rows of all pages, from one cursor to the next; the envelope of the first page. */
  async all(account: number, target: string, member: string): Promise<{ rows: Json[]; first: Json }> {
    const rows: Json[] = [];
    let first: Json | null = null;
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { status, body } = await this.get(account, cursor === '' ? target : `${target}&cursor=${cursor}`);
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
      first ??= body;
      rows.push(...body[member]);
      cursor = body.next_cursor;
    }
    return { rows, first: first! };
  }
}
