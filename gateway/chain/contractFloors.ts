/**
 * Brings into the ledger the nonce floors that wallets have raised on the chain itself (RULES.md 5.13). Some time after
 * a raise the contract refuses orders below the floor. The ledger has to know the floor before then, because orders
 * that it matched below the floor would never settle.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   CONTRACTFLOORS-1  No order is placed before the raises that the chain had when the process began are durable here.
 *   CONTRACTFLOORS-2  Before that, an exchange restored to an earlier time asks the contract once for the floor of
 *                     every wallet: raises that its ledger had known before are not reported again.
 *   CONTRACTFLOORS-3  An account gets no money of a wallet before it has the wallet's floor, which may have been raised
 *                     before the wallet was linked.
 */
import { floorOf } from '../../shared/base/floors.ts';
import type { SettlementHealth } from '../../shared/wire/threads.ts';
import type { Accounts } from '../account/accounts.ts';
import type { Restrictions } from '../account/restrictions.ts';
import type { Logger } from '../base/log.ts';
import type { Platform } from '../base/platform.ts';
import { ChainDown, type ChainLink } from '../shardlink/settlementLink.ts';
import type { ChainHealth } from './health.ts';

type ContractFloorsOptions = {
  readonly link: Pick<ChainLink, 'ask' | 'onNews' | 'acceptsNews'>;
  readonly health: Pick<ChainHealth, 'waitFor'>;
  readonly accounts: Pick<Accounts, 'ownerOf' | 'escrows' | 'durable'>;
  readonly platform: Pick<Platform, 'floors' | 'contractFloorsRead' | 'setContractFloorsRead'>;
  readonly restrictions: Pick<Restrictions, 'raiseNonceFloor'>;
  readonly log: Logger;
};

const NO_ACCOUNT = 0;
/** Wallets per question: the node is asked about each. */
const MOST_ASKED = 48;
const CARRYING = 'nonce floors that wallets have raised on the chain are not carried out yet';
const ASKING = 'the contract is asked for the nonce floors of all wallets';

export class ContractFloors {
  readonly #options: ContractFloorsOptions;
  #isDone = false;
  #isAsking = false;

  constructor(options: ContractFloorsOptions) {
    this.#options = options;
    const { health, link } = options;
    link.onNews('nonceFloor', ({ wallet, floor }) => this.#take(wallet, floor));
    health.waitFor((facts) => this.#problem(facts));
  }

  /** Keeps CONTRACTFLOORS-3. Rejects while the node does not answer. */
  async ask(wallets: readonly string[]): Promise<void> {
    const { floors } = await this.#options.link.ask('nonceFloors', { wallets });
    for (const [index, wallet] of wallets.entries()) if (floors[index] > 0) await this.#take(wallet, floors[index]);
  }

  /**
   * Durable when it resolves. A wallet without an account has no orders; its floor is read once it has an account
   * (`ask`).
   */
  async #take(wallet: string, floor: number): Promise<void> {
    const { accounts, restrictions } = this.#options;
    if (accounts.ownerOf(wallet) === NO_ACCOUNT) return;
    await restrictions.raiseNonceFloor(wallet, floor);
    await accounts.durable();
  }

  /** Why orders cannot be placed yet; null once CONTRACTFLOORS-1 and -2 hold. */
  #problem({ floorsToCarry }: SettlementHealth): string | null {
    const { link, platform } = this.#options;
    if (this.#isDone) return null;
    if (!link.acceptsNews || floorsToCarry !== 0) return CARRYING;
    if (platform.contractFloorsRead !== floorOf(platform.floors)) {
      if (!this.#isAsking) void this.#askAll();
      return ASKING;
    }
    this.#isDone = true;
    return null;
  }

  async #askAll(): Promise<void> {
    const { accounts, log, platform } = this.#options;
    this.#isAsking = true;
    try {
      let wallets: string[] = [];
      for (const wallet of accounts.escrows()) {
        wallets.push(wallet);
        if (wallets.length < MOST_ASKED) continue;
        await this.ask(wallets);
        wallets = [];
      }
      if (wallets.length > 0) await this.ask(wallets);
      platform.setContractFloorsRead(floorOf(platform.floors));
    } catch (error) {
      // It is tried again at the next report of settlement.
      if (!(error instanceof ChainDown))
        log.error({ err: error }, 'nonce floors of the contract could not be applied; they are tried again');
    } finally {
      this.#isAsking = false;
    }
  }
}
