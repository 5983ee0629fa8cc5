/**
 * The two places where an exchange can settle, each with the parts that only it has: its own ledger, or a chain. This
 * is chosen once, when the exchange opens; everything else asks the port (gateway/shardlink/settlementPort.ts).
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ChainBounds } from '../account/chainBounds.ts';
import type { Funding } from '../account/funding.ts';
import type { Restrictions } from '../account/restrictions.ts';
import type { ChainConfig } from '../base/chainSettings.ts';
import type { Logger } from '../base/log.ts';
import { followDecisions } from '../chain/chainDecisions.ts';
import { ChainDeployment } from '../chain/chainDeployment.ts';
import { followChain } from '../chain/chainMoney.ts';
import { ContractFloors } from '../chain/contractFloors.ts';
import { Deployment, ledgerDeployer, type MarketDeployment } from '../chain/deployment.ts';
import type { ChainHealth } from '../chain/health.ts';
import type { MarketCommands } from '../markets/marketCommands.ts';
import type { AdminFeed } from '../operator/feed.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { ChainLink } from '../shardlink/settlementLink.ts';
import { chainSettlement, LEDGER_SETTLEMENT, type SettlementPort } from '../shardlink/settlementPort.ts';
import { chainCash, ledgerCash, type OpenCash } from './cashRails.ts';
import type { Stores } from './stores.ts';

type DeploymentParts = { readonly stores: Stores; readonly clock: Clock; readonly log: Logger };

/** The parts that news of a chain change. */
type FollowingParts = {
  readonly stores: Stores;
  readonly engine: ShardClient;
  readonly funding: Funding;
  readonly restrictions: Restrictions;
  readonly marketCommands: MarketCommands;
  readonly feed: AdminFeed;
  readonly log: Logger;
};

export type SettlementSide = {
  readonly port: SettlementPort;
  deployment(parts: DeploymentParts): MarketDeployment;
  /** From now on its news are carried out. */
  follow(parts: FollowingParts): void;
  readonly openCash: OpenCash;
};

export const LEDGER_SIDE: SettlementSide = {
  port: LEDGER_SETTLEMENT,
  deployment({ stores, clock, log }) {
    const { catalog, contracts } = stores.control;
    return new Deployment({ catalog, deployer: ledgerDeployer(() => contracts.current.marketFactory), clock, log });
  },
  follow() {},
  openCash: ledgerCash,
};

type Chain = { readonly link: ChainLink; readonly health: ChainHealth };

export function chainSide({ link, health }: Chain, config: ChainConfig, clock: Clock): SettlementSide {
  const facts = { hasAgreed: () => health.hasAgreed, report: () => health.latest };
  return {
    port: chainSettlement(link, new ChainBounds(config, clock, facts), health),
    deployment({ stores, clock: own, log }) {
      const { catalog, contracts } = stores.control;
      const marketFactory = (): string => contracts.current.marketFactory;
      return new ChainDeployment({ catalog, link, marketFactory, clock: own, log });
    },
    follow: (parts) => follow(parts, link, health),
    openCash: (parts) => chainCash(parts, link, config),
  };
}

function follow(parts: FollowingParts, link: ChainLink, health: ChainHealth): void {
  const { stores, restrictions, marketCommands, feed, log } = parts;
  const { accounts, catalog, movements, platform } = stores.control;
  followDecisions({ link, catalog, marketCommands, audit: stores.audit, feed, log });
  const contractFloors = new ContractFloors({ link, health, accounts, platform, log, restrictions });
  followChain({ ...parts, link, accounts, movements, markets: stores.views.markets, contractFloors });
  link.onNews('delegateEnded', async ({ maker, signer }) => {
    await restrictions.removeDelegate(maker, signer);
    await accounts.durable();
  });
}
