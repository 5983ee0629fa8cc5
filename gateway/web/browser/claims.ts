/** The payouts of decided markets that the account may claim, above its positions and in their rows. */
import { html } from 'htm/preact';
import type { RefObject, VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { isRefusal } from '../../../shared/client/answers.ts';
import type { Market, Redeemable } from '../../../shared/client/types.ts';
import { changeTextOf } from './api.ts';
import { units } from './format.ts';
import { Link } from './router.ts';
import { untilAnswered } from './sending.ts';
import { ask } from './session.ts';

const NOT_FOUND = 404;

type Claiming = {
  readonly said: string;
  /** Where the keyboard goes on when a button disappears with what was claimed. */
  readonly place: RefObject<HTMLParagraphElement | null>;
  readonly claim: (marketId: string) => Promise<void>;
};

/** One for the whole view: a market can be claimed at several places of it. */
export function useClaiming(onChanged: () => void): Claiming {
  const [said, say] = useState('');
  const place = useRef<HTMLParagraphElement>(null);
  /** Markets whose claim was sent and not refused: they stay in the list until it is loaded again. */
  const claimed = useRef(new Set<string>()).current;
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
  return { said, place, claim };
}

type ClaimsProps = {
  readonly redeemable: readonly Redeemable[];
  readonly markets: ReadonlyMap<string, Market>;
  readonly claiming: Claiming;
};

export function Claims({ redeemable, markets, claiming: { said, place, claim } }: ClaimsProps): VNode | null {
  if (redeemable.length === 0 && said === '') return null;
  return html`<section class="panel claims"><h2>To be claimed</h2>
    <p role="status" tabindex="-1" ref=${place}>${said}</p>
    <ul class="plain">${redeemable.map(
      ({ market_id, outcome_index, quantity, payout, resolution }) => html`<li key=${market_id + outcome_index}>
        <span><${Link} to=${`/markets/${market_id}`}>${markets.get(market_id)?.title ?? 'Market'}</${Link}>${': '}
          ${resolution}. ${units(quantity)} tokens pay <strong>$${units(payout)}</strong>.</span>${' '}
        <button type="button" class="primary" onClick=${() => claim(market_id)}>Claim</button></li>`,
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
