/**
 * Decisions that a chain makes (RULES.md 17.32): the ledger follows a decision once it is final, and notes a veto. A
 * report may be repeated and has the same result.
 * Owner: the gateway thread.
 */
import type { MarketStatus } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { PPM } from '../../shared/base/payout.ts';
import type { Logger } from '../base/log.ts';
import type { Catalog } from '../markets/catalog.ts';
import type { MarketCommands } from '../markets/marketCommands.ts';
import type { ChainLink } from '../shardlink/settlementLink.ts';

type ChainDecisionsOptions = {
  readonly link: Pick<ChainLink, 'onNews'>;
  readonly catalog: Pick<Catalog, 'byIndex'>;
  readonly marketCommands: Pick<MarketCommands, 'carryOut'>;
  readonly audit: { append(fields: { readonly event: 'decision_vetoed' }): Promise<unknown> };
  readonly feed: { publish(type: string, data: object): void };
  readonly log: Logger;
};

export function followDecisions({ link, catalog, marketCommands, audit, feed, log }: ChainDecisionsOptions): void {
  link.onNews('marketDecided', async ({ market, status, payoutYesPpm }) => {
    const refusal = await marketCommands.carryOut(catalog.byIndex(market), status as MarketStatus, payoutYesPpm);
    // This is a repeat: the ledger has carried it out before.
    if (refusal === null || refusal.row === ERRORS.INVALID_TRANSITION) return;
    throw new Error(`the decision of market ${market} waits: ${refusal.row.code}`);
  });
  link.onNews('decisionVetoed', async ({ market, payoutYesPpm, number }) => {
    const facts = {
      market_id: catalog.byIndex(market).id,
      payouts: [payoutYesPpm, PPM - payoutYesPpm],
      proposal: number,
    };
    await audit.append({ event: 'decision_vetoed', ...facts });
    log.error(
      facts,
      'the decision of a market was vetoed on the chain: the market is undecided and needs another decision',
    );
    feed.publish('decision_vetoed', facts);
  });
}
