/** Operators' commands for an exchange on a chain: trades that the contract refuses, and waiting money. */
import { command } from '../frame/command.ts';
import { optionalNumber } from '../frame/orderForm.ts';
import { nextLine, PAGE_OPTIONS } from '../frame/pages.ts';
import { columns, decimal } from '../frame/text.ts';

const TRADE = { trade: { description: 'the id of the trade' } } as const;

export const ADMIN_SETTLEMENT = [
  command({
    name: 'admin trades failed',
    summary: 'List trades that the contract refuses for good, the oldest first',
    options: PAGE_OPTIONS,
    json: 'the answer of GET /admin/settlement/failed',
    run: async (context, { limit, cursor }) => {
      const query = { limit: optionalNumber('limit', limit), cursor: optionalNumber('cursor', cursor) };
      const answer = await context.admin().failedTrades(query);
      const rows = answer.trades.map((row) => [
        row.trade_id,
        row.market_id,
        row.price,
        decimal(row.token_quantity_atomic),
        row.reason,
        row.failed_at,
      ]);
      const head = ['trade', 'market', 'price', 'size', 'error', 'failed'];
      return { value: answer, lines: [...columns(head, rows, 'no trades'), ...nextLine(answer.next_cursor)] };
    },
  }),
  command({
    name: 'admin trades retry',
    summary: 'Have a failed trade sent again, once its cause is mended',
    arguments: TRADE,
    examples: ['admin trades retry 0190a0b0-…'],
    json: 'the answer of POST /admin/settlement/trades/{id}/retry',
    run: async (context, { trade }) => {
      const answer = await context.admin().retryTrade(trade);
      return { value: answer, lines: ['it is sent again'] };
    },
  }),
  command({
    name: 'admin trades unwind',
    summary: 'Undo a failed trade in the ledger, for both sides',
    arguments: TRADE,
    examples: ['admin trades unwind 0190a0b0-…'],
    json: 'the answer of POST /admin/settlement/trades/{id}/unwind',
    run: async (context, { trade }) => {
      const answer = await context.admin().unwindTrade(trade);
      return { value: answer, lines: ['it is unwound'] };
    },
  }),
  command({
    name: 'admin money',
    summary: 'List money that has moved on the chain and that the ledger does not have yet',
    options: { limit: PAGE_OPTIONS.limit, offset: { value: 'number', description: 'how many to leave out' } },
    json: 'the answer of GET /admin/settlement/money',
    run: async (context, { limit, offset }) => {
      const query = { limit: optionalNumber('limit', limit), offset: optionalNumber('offset', offset) };
      const answer = await context.admin().waitingMoney(query);
      const rows = answer.movements.map((row) => [
        row.found_at,
        row.kind,
        decimal(row.amount_atomic),
        row.wallet,
        row.reason ?? 'on its way',
        row.reference,
      ]);
      const head = ['found', 'what', 'amount', 'wallet', 'it waits for', 'reference'];
      return { value: answer, lines: columns(head, rows, 'nothing waits') };
    },
  }),
];
