/** The details of refusals in words: a person gets no JSON and no atomic units. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detailsInWords } from '../../../../../shared/client/cli/frame/details.ts';

test('amounts have their unit, fields their rule, and nothing is left out', () => {
  const cases: [unknown, string[]][] = [
    [undefined, []],
    [{ asset: 'USDC', required: '5500000', available: '0' }, ['required: 5.5 USDC', 'available: 0 USDC']],
    [{ asset: 'YES', required: '5500000' }, ['required: 5.5 YES tokens']],
    [
      { claim_micro: '-1500000', least_atomic: 20, seconds: 3 },
      ['claim: -1.5 USDC', 'least: 0.00002 tokens', 'seconds: 3'],
    ],
    [{ field: 'limit', rule: 'maximum', expected: 'at most 100', value: 500 }, ['limit: at most 100, not 500']],
    [{ field: 'order_group', rule: 'known', value: 'quotes' }, ['order_group: quotes is not known']],
    [{ field: 'cursor', rule: 'known' }, ['cursor is not known']],
    [{ field: 'body', rule: 'absent' }, ['body is not accepted here']],
    [{ remaining: '2500000' }, ['remaining: 2.5 of what the order gives']],
    [
      [{ step: 'nonce' }, 'more'],
      ['step: nonce', 'more'],
    ],
  ];
  for (const [details, lines] of cases) assert.deepEqual(detailsInWords(details), lines);
});
