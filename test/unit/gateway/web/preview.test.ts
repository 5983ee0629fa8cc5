import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preview, type Ticket } from '../../../../gateway/web/preview.ts';

const TICKET: Ticket = { side: 'BUY', outcome: 0, cents: '65', size: '10' };

function shown(changes: Partial<Ticket>, ticksPerUnit = 100, feeBps = 50) {
  const result = preview({ ...TICKET, ...changes }, ticksPerUnit, feeBps);
  return typeof result === 'string' ? result : Object.values(result).map(String).join(' ');
}

test('a buyer of 10 at 65 cents pays 6.50, and 9.95 tokens arrive, each worth a dollar (RULES.md 2.3)', () => {
  assert.equal(shown({}), '0.65 10000000 6500000 50000 9950000 9950000');
});

test('a seller of 10 at 65 cents receives 6.50 less half a per cent of it', () => {
  assert.equal(shown({ side: 'SELL' }), '0.65 10000000 6500000 32500 6467500 6467500');
});

test('fees are rounded down, as the exchange charges them', () => {
  assert.equal(shown({ size: '0.0001', cents: '1' }), '0.01 100 1 0 100 100');
  assert.equal(shown({ size: '0.0199', side: 'SELL', cents: '99' }, 100, 100), '0.99 19900 19701 197 19504 19504');
});

test('prices are steps of the grid of the market, sizes whole lots', () => {
  for (const cents of ['0', '100', '65.5', '-1', '1e1', '', '065', '65.', '.5', '٦']) {
    assert.match(shown({ cents }), /^The price is a step of 1¢ from 1¢ to 99¢/, cents);
  }
  assert.equal(shown({ cents: '65.5' }, 1000).slice(0, 5), '0.655');
  assert.equal(shown({ cents: '5' }).slice(0, 4), '0.05');
  for (const size of ['', '0', '-1', 'ten', '1,5', '1e3', '0.0000001']) {
    assert.match(shown({ size }), /^The size is a number of tokens/, size);
  }
  assert.equal(shown({ size: '0.00001' }), 'The size is a multiple of 0.0001 tokens.');
});
