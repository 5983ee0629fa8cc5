/** The prices that the books give to the outcomes of all trading markets (RULES.md 12.39). */
import { PROBABILITIES } from '../../shared/api/quotes.ts';
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import { okKept, type TextsInTurns } from '../http/pieces.ts';
import { type Route, route } from '../http/route.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { RouteSpec } from '../http/spec.ts';
import { midsOf } from '../shardlink/prices.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';
import type { Views } from '../shardlink/views.ts';
import type { Catalog } from './catalog.ts';
import { deployStatus } from './deployments.ts';

type ProbabilityDeps = {
  readonly catalog: Pick<Catalog, 'markets'>;
  readonly views: Pick<Views, 'markets' | 'books'>;
  readonly sharedAnswers: SharedAnswers;
  readonly texts: TextsInTurns;
  /** Where markets are deployed, only deployed ones are listed. */
  readonly settlement: Pick<SettlementPort, 'deploysMarkets'>;
};

/** Kept as long as quotes. */
const KEPT_MS = 5000;
/** A market without a book takes about 20 ns. */
const MARKETS_PER_ROW = 256;

const SHOW_PROBABILITIES = {
  method: 'GET',
  path: '/v1/onchain/market-probabilities',
  id: 'getMarketProbabilities',
  summary: 'The midpoints of both outcomes, of every active market with orders on both sides of its book.',
  access: 'public',
  answers: { 200: PROBABILITIES },
  errors: ['ENGINE_BUSY'],
} as const satisfies RouteSpec;

export function probabilityRoutes(deps: ProbabilityDeps): Route[] {
  const compute = (): Promise<Buffer> => deps.texts.join(probabilityRows(deps));
  return [
    route(SHOW_PROBABILITIES, async (call) => {
      const body = await deps.sharedAnswers.get(call, 'market-probabilities', KEPT_MS, compute);
      deps.sharedAnswers.send(call, body, okKept);
    }),
  ];
}

function* probabilityRows({ catalog, views, settlement }: ProbabilityDeps): Generator<string> {
  let row = '{"probabilities":{';
  let separator = '';
  for (const market of catalog.markets) {
    const { index, id } = market;
    const isActive = views.markets.has(index) && views.markets.status(index) === MARKET_STATUS.ACTIVE;
    const isListed = isActive && (!settlement.deploysMarkets || deployStatus(market) === 'deployed');
    const mids = isListed ? midsOf(views.books.of(index)) : null;
    if (mids !== null) {
      row += `${separator}"${id}":[${mids.join(',')}]`;
      separator = ',';
    }
    if (index % MARKETS_PER_ROW === 0 || mids !== null) {
      yield row;
      row = '';
    }
  }
  yield `${row}}}`;
}
