/** The payouts of decided markets that the account may claim. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { isRefusal } from '../../../shared/client/answers.ts';
import type { Market, Redeemable } from '../../../shared/client/types.ts';
import { changeTextOf } from './api.ts';
import { units } from './format.ts';
import { Link } from './router.ts';
import { untilAnswered } from './sending.ts';
import { ask } from './session.ts';

const NOT_FOUND = 404;

type ClaimsProps = {
  readonly redeemable: readonly Redeemable[];
  readonly markets: ReadonlyMap<string, Market>;
  readonly onChanged: () => void;
};

export function Claims({ redeemable, markets, onChanged }: ClaimsProps): VNode | null {
  const [said, say] = useState('');
  const place = useRef<HTMLParagraphElement>(null);
  /** Markets whose claim was sent and not refused: they stay in the list until it is loaded again. */
  const claimed = useRef(new Set<string>()).current;
  if (redeemable.length === 0 && said === '') return null;
  const claim = async (marketId: string): Promise<void> => {
    if (claimed.has(marketId)) return;
    claimed.add(marketId);
    try {
      await claimOnce(marketId, () => say('No answer yet. Asking again …'));
      say('Paid out.');
      place.current?.focus();
    } catch (error) {
      claimed.delete(marketId);
      say(changeTextOf(error));
    }
    onChanged();
  };
  return html`<section class="panel claims"><h2>To be claimed</h2>
    <p role="status" tabindex="-1" ref=${place}>${said}</p>
    <ul class="plain">${redeemable.map(
      ({ market_id, outcome_index, quantity, payout, resolution }) => html`<li key=${market_id + outcome_index}>
        <span><${Link} to=${`/markets/${market_id}`}>${markets.get(market_id)?.title ?? 'Market'}</${Link}>${': '}
          ${resolution}. ${units(quantity)} tokens pay <strong>$${units(payout)}</strong>.</span>${' '}
        <button type="button" onClick=${() => claim(market_id)}>Claim</button></li>`,
    )}</ul></section>`;
}

/** A claim pays once, so it may be repeated; "nothing to claim" then says that the first one has paid (14.24). */
async function claimOnce(marketId: string, onUnanswered: () => void): Promise<void> {
  let isRepeated = false;
  try {
    await untilAnswered(
      () => ask('POST', `/v1/user/positions/${marketId}/claim`),
      () => {
        isRepeated = true;
        onUnanswered();
      },
    );
  } catch (error) {
    if (!isRepeated || !isRefusal(error) || error.status !== NOT_FOUND) throw error;
  }
}
