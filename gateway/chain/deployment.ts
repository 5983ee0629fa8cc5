/**
 * The deployment of markets (RULES.md 9.19): a queue of deployments under way, and their transitions.
 *
 *   not_deployed ──request──► deploying ──► deployed
 *                                 ▲ └────► failed ──pause──► pending_deploy ──► deploying …
 *                                                └─ the fifth retry failed ──► permanently_failed
 *
 * Owner: the gateway thread.
 *
 * Invariants:
 *   DEPLOYMENT-1  A transition and what it says about the market are written to control.db in one transaction, so a
 *                 start goes on where the process ended. An attempt may be repeated: it gives the same ids.
 *   DEPLOYMENT-2  A deployed market has no further transition; a market that was given up has none without a new
 *                 request.
 *   DEPLOYMENT-3  Token ids never change: they are signed into orders.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { marketIds } from '../../shared/chain/outcomeTokens.ts';
import type { Logger } from '../base/log.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Catalog, MarketDetails, MarketEntry } from '../markets/catalog.ts';
import { type DeploymentState, deployStatus } from '../markets/deployments.ts';

/** The fields that a deployment adds to the description of a market. */
export type DeployedAs = Required<Pick<MarketDetails, 'condition_id' | 'question_id' | 'contract_address'>>;

export type Deployer = (market: MarketEntry) => Promise<DeployedAs>;

type DeploymentOptions = {
  readonly catalog: Pick<Catalog, 'markets' | 'updateMarket' | 'durable'>;
  readonly deployer: Deployer;
  readonly clock: Clock;
  readonly log: Logger;
};

const MOST_RETRIES = 5;
/** Pause before the first retry; each further pause is twice as long. */
const FIRST_PAUSE_MS = 1000;
/** Transitions of one tick: each is a write to control.db. */
const MOST_PER_TICK = 16;

/** The deployment of markets, by the ledger or by a chain. */
export type MarketDeployment = {
  /** Starts a deployment unless it is under way. Resolves once the answer is durable. @returns null on success. */
  request(market: MarketEntry, isDecided: boolean): Promise<Refusal | null>;
  /** The same, even for a market that was given up. */
  requestAgain(market: MarketEntry, isDecided: boolean): Promise<Refusal | null>;
  /** Called several times a second. */
  tick(): void;
};

export class Deployment implements MarketDeployment {
  readonly #options: DeploymentOptions;
  /** Deployments under way, with the time of the next transition. */
  readonly #queue = new Map<MarketEntry, number>();
  readonly #attempted = new Set<MarketEntry>();

  constructor(options: DeploymentOptions) {
    this.#options = options;
    for (const market of options.catalog.markets) {
      if (market.deployment !== null && market.deployment.status !== 'permanently_failed') this.#queue.set(market, 0);
    }
  }

  request(market: MarketEntry, isDecided: boolean): Promise<Refusal | null> {
    return this.#request(market, isDecided, deployStatus(market) === 'not_deployed');
  }

  requestAgain(market: MarketEntry, isDecided: boolean): Promise<Refusal | null> {
    return this.#request(market, isDecided, isStartable(market));
  }

  async #request(market: MarketEntry, isDecided: boolean, isNew: boolean): Promise<Refusal | null> {
    if (isNew) {
      if (isDecided) return { row: ERRORS.INVALID_TRANSITION };
      this.#move(market, { status: 'deploying', retries: 0 });
      this.#queue.set(market, 0);
    }
    await this.#options.catalog.durable();
    return null;
  }

  /** Makes the next transition of markets whose time has come. */
  tick(): void {
    const nowMs = this.#options.clock.nowMs();
    let transitions = 0;
    for (const [market, dueMs] of this.#queue) {
      if (transitions === MOST_PER_TICK) return;
      if (dueMs > nowMs || this.#attempted.has(market)) continue;
      transitions++;
      this.#goOn(market);
    }
  }

  #goOn(market: MarketEntry): void {
    const { deployment } = market;
    if (deployment === null || deployStatus(market) === 'deployed') {
      this.#queue.delete(market); // the administrator has named its condition
      if (deployment !== null) this.#tryMove(market, null);
    } else if (deployment.status === 'failed') {
      this.#tryMove(market, { status: 'pending_deploy', retries: deployment.retries + 1 });
    } else if (deployment.status === 'pending_deploy') this.#tryMove(market, { ...deployment, status: 'deploying' });
    else void this.#attempt(market, deployment.retries);
  }

  async #attempt(market: MarketEntry, retries: number): Promise<void> {
    const { deployer, log } = this.#options;
    this.#attempted.add(market);
    try {
      const deployed = await deployer(market);
      this.#move(market, null, deployed);
      this.#queue.delete(market);
    } catch (error) {
      log.warn({ err: error, market: market.id, retries }, 'a market could not be deployed');
      const isLast = retries === MOST_RETRIES;
      const isNoted = this.#tryMove(market, { status: isLast ? 'permanently_failed' : 'failed', retries });
      if (isNoted && isLast) this.#queue.delete(market);
      else this.#queue.set(market, this.#options.clock.nowMs() + FIRST_PAUSE_MS * 2 ** retries);
    } finally {
      this.#attempted.delete(market);
    }
  }

  /** @returns false if control.db could not be written: the transition is made later. */
  #tryMove(market: MarketEntry, state: DeploymentState): boolean {
    try {
      this.#move(market, state);
      return true;
    } catch (error) {
      this.#options.log.warn({ err: error, market: market.id }, 'a deployment could not be noted in control.db');
      return false;
    }
  }

  /** DEPLOYMENT-1 */
  #move(market: MarketEntry, state: DeploymentState, deployed: Partial<DeployedAs> = {}): void {
    const { catalog, clock } = this.#options;
    catalog.updateMarket(market, market.eventId, { ...market.details, ...deployed }, clock.nowMs(), state);
  }
}

/**
 * Deploys into the exchange's own ledger: computes the ids that the contract of conditional tokens would give to a
 * question with two outcomes, asked by the market factory. The question is the id of the market.
 */
export function ledgerDeployer(marketFactory: () => string): Deployer {
  return (market) => Promise.resolve(deployedBy(marketFactory(), market));
}

/** Returns the ids that follow from the factory and the id of the market. */
export function deployedBy(contract_address: string, { idBytes }: MarketEntry): DeployedAs {
  const { conditionId: condition_id, questionId: question_id } = marketIds(contract_address, idBytes);
  return { contract_address, condition_id, question_id };
}

/** True if no deployment of the market is under way. */
export function isStartable(market: MarketEntry): boolean {
  return ['not_deployed', 'permanently_failed'].includes(deployStatus(market));
}
