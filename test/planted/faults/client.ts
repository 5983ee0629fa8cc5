/** Planted faults (faults.ts) of the client as a package. */
import type { Fault } from './fault.ts';

export const CLIENT_FAULTS: readonly Fault[] = [
  {
    name: 'the declarations of the client have the sentences of all schemas',
    file: 'test/packages/build.ts',
    search: 'keep(path, withoutNotes)',
    replace: 'keep(path, (text) => text)',
    caughtBy: 'test/unit/packages.test.ts',
  },
  {
    name: 'a client asks for an address that the exchange of its last release does not have',
    file: 'shared/client/marketData.ts',
    search: 'segment(marketId)}/tick-size`',
    replace: 'segment(marketId)}/tick-size?exact=1`',
    caughtBy: 'test/api/versions.test.ts',
  },
  {
    name: 'an amend without a size asks again for what was filled',
    file: 'shared/client/orderChanges.ts',
    search: 'const left = signed - BigInt(record.filled_token_quantity_atomic);',
    replace: 'const left = signed;',
    caughtBy: 'test/api/sdkOrders.test.ts',
  },
  {
    name: 'a buyer at the market pays more than was said',
    file: 'shared/client/atMarket.ts',
    search: '? amount.usdMicro / onGrid :',
    replace: '? amount.usdMicro / (onGrid - 1n) :',
    caughtBy: 'test/api/sdkOrders.test.ts',
  },
  {
    name: 'an order at the market trusts a book that is stale',
    file: 'shared/client/marketOrder.ts',
    search: "if (book.state !== 'live')",
    replace: "if (book.state === 'closed')",
    caughtBy: 'test/api/sdkOrders.test.ts',
  },
  {
    name: 'a stream of candles is live before it has one to continue after',
    file: 'shared/client/stream/channelStream.ts',
    search: 'if (this.#selection.markets.every((id) => this.#after.has(id))) super.caughtUp();',
    replace: 'super.caughtUp();',
    caughtBy: 'test/unit/shared/client/exchangeStream.test.ts',
  },
  {
    name: 'a maker’s price in the ticket begins where it would trade',
    file: 'gateway/web/browser/preview.ts',
    search: 'const [first, second] = isMaker ? [own, other] : [other, own];',
    replace: 'const [first, second] = [other, own];',
    caughtBy: 'test/unit/gateway/web/browser/preview.test.ts',
  },
  {
    name: 'a buyer’s average price in the ticket is rounded down',
    file: 'gateway/web/browser/preview.ts',
    search: 'hundredths + filledAtomic - 1n : hundredths) / filledAtomic',
    replace: 'hundredths : hundredths) / filledAtomic',
    caughtBy: 'test/unit/gateway/web/browser/preview.test.ts',
  },
  {
    name: 'a session cancels in the name of a scope that it has, and places in bulk as well',
    file: 'gateway/trading/batchesRoutes.ts',
    search: "const BULK = { access: 'trade:bulk', path",
    replace: "const BULK = { access: 'trade:bulk', sessionScope: 'trade:orders', path",
    caughtBy: 'test/api/sessions.test.ts',
  },
  {
    name: 'the gain that the page draws counts what was paid in',
    file: 'gateway/web/browser/gains.ts',
    search: 'if (PAID.includes(entry.type)) paid',
    replace: "if (entry.type === 'withdrawal') paid",
    caughtBy: 'test/unit/gateway/web/browser/gains.test.ts',
  },
  {
    name: 'a time on the page is by the calendar of its visitor',
    file: 'gateway/web/browser/times.ts',
    search: '{ ...READ_BY_ALL, ...options }',
    replace: 'options',
    caughtBy: 'test/unit/gateway/web/browser/times.test.ts',
  },
];
