/**
 * The prices of a set's markets that follow from the best prices of the others (RULES.md 19.12): what a Yes costs and
 * brings through the books of the others and a conversion.
 */
import type { ImpliedPrice } from '../../shared/api/events.ts';
import { isDecided, MARKET_STATUS, OUTCOME, STAGE } from '../../shared/base/codes.ts';
import { signedTicksToPrice, tickToPrice } from '../../shared/base/units.ts';
import { bestTicks } from '../shardlink/bookLevels.ts';
import { NO_TICK } from '../shardlink/bookViews.ts';
import type { Views } from '../shardlink/views.ts';
import type { EventEntry } from './catalog.ts';
import { isSet } from './eventSets.ts';

type PricedViews = Pick<Views, 'books' | 'markets'>;

/** The best prices of one side of all books: their sum, and how many books have none. */
class Sum {
  #ticks = 0;
  #missing = 0;

  add(tick: number): void {
    if (tick === NO_TICK) this.#missing++;
    else this.#ticks += tick;
  }

  /** One USDC less the prices of the books but this one; null if one of those is missing. */
  withoutOwn(tick: number, ticksPerUnit: number): number | null {
    const isOwnMissing = tick === NO_TICK;
    if (this.#missing > (isOwnMissing ? 1 : 0)) return null;
    return ticksPerUnit - this.#ticks + (isOwnMissing ? 0 : tick);
  }
}

/** By market, without the eliminated ones; null for an event that is no set, and once the set is decided. */
export function impliedPricesOf(views: PricedViews, event: EventEntry): readonly ImpliedPrice[] | null {
  if (!isSet(event)) return null;
  const [bids, asks] = [new Sum(), new Sum()];
  const left = event.markets.filter(
    ({ index }) => !views.markets.has(index) || !isDecided(views.markets.status(index)),
  );
  const members = left.map(({ id, index, ticksPerUnit }) => {
    const { bid, ask } = takesOrders(views, index) ? bestTicks(views.books.of(index), OUTCOME.YES) : NOTHING;
    bids.add(bid);
    asks.add(ask);
    return { id, bid, ask, ticksPerUnit };
  });
  if (members.length === 0) return null;
  return members.map(({ id, bid, ask, ticksPerUnit }) => {
    const bidTicks = asks.withoutOwn(ask, ticksPerUnit);
    const askTicks = bids.withoutOwn(bid, ticksPerUnit);
    return {
      market_id: id,
      bid: bidTicks === null || bidTicks <= 0 ? null : tickToPrice(bidTicks, ticksPerUnit),
      ask: askTicks === null ? null : signedTicksToPrice(askTicks, ticksPerUnit),
    };
  });
}

const NOTHING = { bid: NO_TICK, ask: NO_TICK };

/** True if an order could be filled by what rests in the book now. */
function takesOrders({ markets }: PricedViews, market: number): boolean {
  if (!markets.has(market)) return false;
  return markets.status(market) === MARKET_STATUS.ACTIVE && markets.stage(market) === STAGE.OPEN;
}
