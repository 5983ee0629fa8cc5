import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  averageCents,
  type Preview,
  preview,
  startCents,
  stepCents,
  type Ticket,
} from '../../../../../gateway/web/browser/preview.ts';
import type { Levels } from '../../../../../shared/client/stream/bookReplica.ts';

const TICKET: Ticket = {
  side: 'BUY',
  kind: 'GTC',
  cents: '65',
  size: '10',
  budget: '10',
  isInTokens: false,
  slippageTicks: 0,
  expiresAt: '',
  isPostOnly: false,
  leastNet: '',
  selfTrade: 'none',
};
const NOW_MS = 1_790_000_000_000;
const level = (price: string, tokens: number) => ({
  price,
  num_orders: 1,
  token_quantity_atomic: String(tokens * 1_000_000),
});
const NO_BOOK: Levels = { bids: [], asks: [] };
const BOOK: Levels = {
  bids: [level('0.38', 5), level('0.37', 10)],
  asks: [level('0.4', 10), level('0.42', 5), level('0.5', 100)],
};

function made(changes: Partial<Ticket>, { ticksPerUnit = 100, feeBps = 50, book = NO_BOOK } = {}) {
  const grid = { ticksPerUnit, minSizeAtomic: ticksPerUnit, feeBps };
  return preview({ ...TICKET, ...changes }, grid, book, NOW_MS);
}

/** Price, size, notional, fee and the received amount, or the error. */
function shown(changes: Partial<Ticket>, ticksPerUnit = 100, feeBps = 50): string {
  const result = made(changes, { ticksPerUnit, feeBps });
  if ('text' in result) return result.text;
  const { price, sizeAtomic, notionalMicro, feeAtomic, receivedAtomic } = result;
  return [price, sizeAtomic, notionalMicro, feeAtomic, receivedAtomic].join(' ');
}

/** The same in the book above. */
function inBook(changes: Partial<Ticket>): Preview {
  const result = made(changes, { book: BOOK });
  if ('text' in result) throw new Error(result.text);
  return result;
}

test('a buyer of 10 at 65 cents pays 6.50, and 9.95 tokens arrive, each worth a dollar (RULES.md 2.3)', () => {
  assert.equal(shown({}), '0.65 10000000 6500000 50000 9950000');
});

test('a seller of 10 at 65 cents receives 6.50 less half a per cent of it', () => {
  assert.equal(shown({ side: 'SELL' }), '0.65 10000000 6500000 32500 6467500');
});

test('fees are rounded down, as the exchange charges them', () => {
  assert.equal(shown({ size: '0.0001', cents: '1' }), '0.01 100 1 0 100');
  assert.equal(shown({ size: '0.0199', side: 'SELL', cents: '99' }, 100, 100), '0.99 19900 19701 197 19504');
});

test('prices are steps of the grid of the market, sizes whole lots', () => {
  for (const cents of ['0', '100', '65.5', '-1', '1e1', '6,5', '.5', '٦']) {
    assert.match(shown({ cents }), /^The price is a step of 1¢ from 1¢ to 99¢/, cents);
  }
  assert.equal(shown({ cents: '65.5' }, 1000).slice(0, 5), '0.655');
  assert.equal(shown({ cents: '5' }).slice(0, 4), '0.05');
  for (const size of ['', '0', '-1', 'ten', '1e3', '0.0000001']) {
    assert.match(shown({ size }), /^The size is a number of tokens/, size);
  }
  assert.equal(shown({ cents: '65,5', size: '1,5' }, 1000).slice(0, 13), '0.655 1500000');
  assert.equal(shown({ size: '1,000' }), '1,000 can be read in two ways: write 1000 or 1.000.');
  assert.equal(shown({ size: '0.00001' }), 'The size is a multiple of 0.0001 tokens.');
});

test('the smallest order of the market is known to the ticket (RULES.md 1.5)', () => {
  const grid = { ticksPerUnit: 100, minSizeAtomic: 1_000_000, feeBps: 50 };
  const result = preview({ ...TICKET, size: '0.99' }, grid, NO_BOOK, NOW_MS);
  assert.deepEqual(result, { field: 'size', text: 'The smallest order is of 1 tokens.' });
});

test('a seller may sell all lots of a holding of which no order sells any, however few (RULES.md 1.5)', () => {
  const text = (side: 'BUY' | 'SELL', size: string, freeHoldingAtomic: bigint | null): string | undefined => {
    const grid = { ticksPerUnit: 100, minSizeAtomic: 1_000_000, feeBps: 50, freeHoldingAtomic };
    const result = preview({ ...TICKET, side, size }, grid, NO_BOOK, NOW_MS);
    return 'text' in result ? result.text : undefined;
  };
  assert.equal(text('SELL', '0.995', 995_050n), undefined);
  for (const [side, size, held] of [
    ['SELL', '0.9949', 995_050n],
    ['SELL', '0.995', null],
    ['SELL', '0.995', 995_150n],
    ['BUY', '0.995', 995_050n],
  ] as const) {
    assert.match(text(side, size, held)!, /^The smallest order/, `${side} ${size} of ${held}`);
  }
});

test('an order takes the best prices up to its limit, and no more of the last one than it wants', () => {
  const { taken } = inBook({ cents: '42', size: '12' });
  assert.deepEqual(taken, { filledAtomic: 12_000_000n, notionalMicro: 4_840_000n, levels: 2, lastTicks: 42 });
  assert.equal(inBook({ cents: '41', size: '12' }).taken.filledAtomic, 10_000_000n);
  assert.equal(inBook({ cents: '39', size: '12' }).taken.lastTicks, null);
  const sold = inBook({ side: 'SELL', cents: '37', size: '8' }).taken;
  assert.deepEqual(sold, { filledAtomic: 8_000_000n, notionalMicro: 3_010_000n, levels: 2, lastTicks: 37 });
});

test('a buyer at the market never pays more than the amount, however the book changes (PREVIEW-1)', () => {
  // 4 dollars buy the first 10, the fifth one the next: the limit is the last price reached.
  const exact = inBook({ kind: 'MARKET', budget: '5' });
  assert.deepEqual([exact.timeInForce, exact.price, exact.sizeAtomic], ['FAK', '0.42', 11_904_700n]);
  assert.ok(exact.notionalMicro <= 5_000_000n);
  const loose = inBook({ kind: 'MARKET', budget: '5', slippageTicks: 8 });
  assert.deepEqual([loose.price, loose.sizeAtomic, loose.notionalMicro], ['0.5', 10_000_000n, 5_000_000n]);
  const most = inBook({ kind: 'MARKET', budget: '1000', slippageTicks: 99 });
  assert.equal(most.price, '0.99');
});

test('a buyer at the market may say how many tokens instead, and pays the limit for each at most', () => {
  const bought = inBook({ kind: 'MARKET', isInTokens: true, size: '12', slippageTicks: 1 });
  assert.deepEqual([bought.price, bought.sizeAtomic, bought.notionalMicro], ['0.43', 12_000_000n, 5_160_000n]);
  assert.equal(bought.taken.notionalMicro, 4_840_000n);
});

test('a limit begins at the best price that trades, a maker at one that waits, and neither at 50¢', () => {
  const start = (side: 'BUY' | 'SELL', isMaker: boolean, book = BOOK): string => startCents(book, side, isMaker, 100);
  const four = (book: Levels): string[] => [
    start('BUY', false, book),
    start('SELL', false, book),
    start('BUY', true, book),
    start('SELL', true, book),
  ];
  assert.deepEqual(four(BOOK), ['40', '38', '38', '40']);
  assert.deepEqual(four({ ...BOOK, bids: [] }), ['40', '40', '39', '40']);
  assert.deepEqual(four({ ...BOOK, asks: [] }), ['38', '38', '38', '39']);
  assert.deepEqual(four({ bids: [], asks: [level('0.01', 1)] }), ['1', '1', '1', '1']);
  assert.deepEqual(four(NO_BOOK), ['', '', '', '']);
  assert.match((made({ cents: '' }) as { text: string }).text, /^Type a price/);
});

test('an average price is rounded to a hundredth of a cent, against the one who trades', () => {
  const traded = { filledAtomic: 3_000_000n, notionalMicro: 1_000_000n };
  assert.equal(averageCents(traded, 'BUY'), '33.34');
  assert.equal(averageCents(traded, 'SELL'), '33.33');
  assert.equal(averageCents({ filledAtomic: 2_000_000n, notionalMicro: 1_300_000n }, 'BUY'), '65');
});

test('a seller at the market asks for the last price that the size reaches', () => {
  const sold = inBook({ kind: 'MARKET', side: 'SELL', size: '8', slippageTicks: 1 });
  assert.deepEqual([sold.price, sold.sizeAtomic], ['0.36', 8_000_000n]);
  assert.equal(inBook({ kind: 'MARKET', side: 'SELL', size: '8', slippageTicks: 99 }).price, '0.01');
});

test('a market without the other side has nothing for an order at the market', () => {
  assert.match((made({ kind: 'MARKET' }) as { text: string }).text, /^At the moment nothing is offered/);
});

test('a refusal that depends on the present book is a warning, in words (RULES.md 2.7)', () => {
  const warning = (changes: Partial<Ticket>): string | null => inBook(changes).warning;
  assert.equal(warning({ cents: '39', isPostOnly: true }), null);
  assert.match(warning({ cents: '40', isPostOnly: true })!, /refused/);
  assert.equal(warning({ kind: 'FOK', cents: '42', size: '15' }), null);
  assert.match(warning({ kind: 'FOK', cents: '42', size: '16' })!, /^Only 15 tokens/);
  assert.equal(warning({ kind: 'FAK', cents: '42', size: '16' }), null);
  assert.match(warning({ kind: 'FAK', cents: '39' })!, /^Nothing/);
  assert.equal(warning({ kind: 'FAK', cents: '40', leastNet: '9.95' }), null);
  assert.match(warning({ kind: 'FAK', cents: '40', leastNet: '9.950001' })!, /less than you ask for/);
});

test('an order until a time needs a future time; other kinds have none (RULES.md 2.8)', () => {
  const later = new Date(NOW_MS + 3_600_000).toISOString();
  const found = made({ kind: 'GTD', expiresAt: later }) as Preview;
  assert.equal(found.expirationSec, NOW_MS / 1000 + 3600);
  assert.equal((made({ expiresAt: later }) as Preview).expirationSec, 0);
  for (const expiresAt of ['', 'soon', new Date(NOW_MS).toISOString()]) {
    assert.equal((made({ kind: 'GTD', expiresAt }) as { field: string }).field, 'expiry', expiresAt);
  }
});

test('the arrow keys step from tick to tick and stop at the ends of the grid', () => {
  assert.equal(stepCents('55', 100, 1), '56');
  assert.equal(stepCents('98', 100, 10), '99');
  assert.equal(stepCents('3', 100, -10), '1');
  assert.equal(stepCents('55.5', 1000, -1), '55.4');
  assert.equal(stepCents('0.01', 10_000, 1), '0.02');
  assert.equal(stepCents('what', 100, 1), 'what');
});
