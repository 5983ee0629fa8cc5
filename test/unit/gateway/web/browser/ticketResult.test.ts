import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Preview } from '../../../../../gateway/web/browser/preview.ts';
import { placedOf } from '../../../../../gateway/web/browser/ticketResult.ts';
import type { Side } from '../../../../../shared/client/sweep.ts';
import type { PlacementResponse } from '../../../../../shared/client/types.ts';

type Rest = PlacementResponse['remaining_status'];

/** The words for an order of 10 tokens, of which these fills (tokens, micro-USDC) came at once. */
function placed(side: Side, fills: readonly (readonly [number, number])[], rest: Rest) {
  const answer = {
    fills: fills.map(([tokens, micro]) => ({
      token_quantity_atomic: String(tokens * 1_000_000),
      notional_usdc_micro: String(micro),
    })),
    remaining_status: rest,
  } as unknown as PlacementResponse;
  const preview = { sizeAtomic: 10_000_000n } as Preview;
  return placedOf(answer, { side, outcome: 'Warmer', feeBps: 50, preview });
}

test('what an order brought is said with its average price, its cost and what it pays, and where it is', () => {
  assert.deepEqual(
    placed(
      'BUY',
      [
        [4, 1_600_000],
        [6, 2_700_001],
      ] as const,
      'none',
    ),
    {
      text: 'Bought 9.95 Warmer for $4.31, at 43.01¢ on average. Pays $9.95 if Warmer.',
      isHeld: true,
      isWaiting: false,
    },
  );
  assert.deepEqual(placed('SELL', [[4, 1_600_001]] as const, 'open'), {
    text: 'Sold 4.00 Warmer at 40¢ on average: $1.59 after the fee. The other 6.00 tokens wait in the book.',
    isHeld: true,
    isWaiting: true,
  });
  assert.deepEqual(placed('BUY', [], 'open'), {
    text: 'Placed: it waits in the book.',
    isHeld: false,
    isWaiting: true,
  });
  assert.match(placed('BUY', [[1, 400_000]], 'cancelled').text, /The other 9\.00 tokens were not there, and are canc/);
});
