/**
 * The deployment of markets on a chain (RULES.md 17.33): the settlement thread carries it out, also without a request
 * if trades wait for it, and reports every step. Its last report is in control.db.
 *
 *   not_deployed ──request──► pending_deploy ──the thread has stored it──► deploying ──► deployed
 *                                                     ▲ └────► failed ──pause──► pending_deploy ──► deploying …
 *                                                                    └─ the fifth retry failed ──► permanently_failed
 *
 * Owner: the gateway thread.
 *
 * Invariants:
 *   CHAINDEPLOYMENT-1  A request is in control.db before it is sent to the thread, and is sent again until the thread
 *                      has it.
 *   CHAINDEPLOYMENT-2  News are in control.db before they are acknowledged. A deployed market stays deployed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { bytesToUuid, toHex, tryParseHex, UUID_BYTES } from '../../shared/base/hex.ts';
import type { ChainNews } from '../../shared/wire/chainQuestions.ts';
import type { Logger } from '../base/log.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Catalog, MarketEntry } from '../markets/catalog.ts';
import { type DeploymentState, deployStatus } from '../markets/deployments.ts';
import { ChainDown, type ChainLink } from '../shardlink/settlementLink.ts';
import { type DeployedAs, deployedBy, isStartable, type MarketDeployment } from './deployment.ts';

type ChainDeploymentOptions = {
  readonly catalog: Pick<Catalog, 'markets' | 'byId' | 'updateMarket' | 'durable'>;
  readonly link: Pick<ChainLink, 'ask' | 'onNews'>;
  readonly marketFactory: () => string;
  readonly clock: Clock;
  readonly log: Logger;
};
type Step = ChainNews['deployment'];

/** The thread may be starting, or busy with a long stretch of a journal. */
const ASK_AGAIN_MS = 5000;
const ANSWER_WITHIN_MS = 2000;

export class ChainDeployment implements MarketDeployment {
  readonly #options: ChainDeploymentOptions;
  /** Requests that the thread does not have yet, with the time of the next attempt. */
  readonly #unasked = new Map<MarketEntry, number>();

  constructor(options: ChainDeploymentOptions) {
    this.#options = options;
    for (const market of options.catalog.markets) if (isRequested(market)) this.#unasked.set(market, 0);
    options.link.onNews('deployment', (step) => this.#take(step));
  }

  request(market: MarketEntry, isDecided: boolean): Promise<Refusal | null> {
    return this.#request(market, isDecided, deployStatus(market) === 'not_deployed');
  }

  requestAgain(market: MarketEntry, isDecided: boolean): Promise<Refusal | null> {
    return this.#request(market, isDecided, isStartable(market));
  }

  async #request(market: MarketEntry, isDecided: boolean, isNew: boolean): Promise<Refusal | null> {
    const { catalog } = this.#options;
    if (isNew) {
      if (isDecided) return { row: ERRORS.INVALID_TRANSITION };
      this.#move(market, { status: 'pending_deploy', retries: 0 });
      await catalog.durable();
      // The request is stored: if the thread is down, it is asked again.
      await Promise.race([this.#ask(market), delay(ANSWER_WITHIN_MS, undefined, { ref: false })]);
    }
    await catalog.durable();
    return deployStatus(market) === 'not_deployed' ? { row: ERRORS.INVALID_TRANSITION } : null;
  }

  tick(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const [market, dueMs] of this.#unasked) if (dueMs <= nowMs) void this.#ask(market);
  }

  async #ask(market: MarketEntry): Promise<void> {
    const { clock, link, log } = this.#options;
    this.#unasked.set(market, clock.nowMs() + ASK_AGAIN_MS);
    try {
      const { isWanted } = await link.ask('deploy', { market: market.index, marketId: toHex(market.idBytes) });
      // News may have come first.
      if (isRequested(market)) this.#move(market, isWanted ? { status: 'deploying', retries: 0 } : null);
      this.#unasked.delete(market);
    } catch (error) {
      if (!(error instanceof ChainDown))
        log.warn({ err: error, market: market.id }, 'a deployment could not be noted in control.db');
    }
  }

  /** CHAINDEPLOYMENT-2 */
  async #take({ marketId, status, failures, reason }: Step): Promise<void> {
    const { catalog, marketFactory, log } = this.#options;
    const market = catalog.byId(toUuid(marketId));
    if (market === undefined || deployStatus(market) === 'deployed') return;
    if (reason !== null) log.warn({ market: market.id, failures, reason }, 'a market could not be deployed');
    if (status === 'final') this.#move(market, null, deployedBy(marketFactory(), market));
    else this.#move(market, stateOf(status, failures));
    this.#unasked.delete(market);
    await catalog.durable();
  }

  #move(market: MarketEntry, state: DeploymentState, deployed: Partial<DeployedAs> = {}): void {
    const { catalog, clock } = this.#options;
    catalog.updateMarket(market, market.eventId, { ...market.details, ...deployed }, clock.nowMs(), state);
  }
}

function isRequested({ deployment }: MarketEntry): boolean {
  return deployment?.status === 'pending_deploy' && deployment.retries === 0;
}

function stateOf(status: Exclude<Step['status'], 'final'>, failures: number): DeploymentState {
  if (status === 'failed') return { status, retries: failures - 1 };
  if (status === 'given_up') return { status: 'permanently_failed', retries: failures - 1 };
  return { status: status === 'wanted' && failures > 0 ? 'pending_deploy' : 'deploying', retries: failures };
}

function toUuid(marketId: string): string {
  const bytes = new Uint8Array(UUID_BYTES);
  tryParseHex(marketId, UUID_BYTES, bytes, 0);
  return bytesToUuid(bytes);
}
