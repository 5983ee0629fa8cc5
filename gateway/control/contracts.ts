/**
 * For which contracts on which chain this exchange is: what everybody is told, and a change that has begun but is not
 * through in every shard (RULES.md 5.6). The settings name what a data directory begins with; what the administrator
 * has changed since is in control.db and wins.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   N1  `pending` is durable before any shard hears of the change, and becomes `current` in one write when all have it.
 *   N2  `first` never changes: shards are started with it, and learn what came after from their journals.
 */
import { type Config, ConfigError, type ContractAddresses } from '../config.ts';
import type { Platform } from './platform.ts';

export type Contracts = ContractAddresses & Readonly<{ chainId: number }>;

/** What orders are signed for. */
export type SigningContract = Pick<Contracts, 'chainId' | 'exchange'>;

/** As it is stored: what differs from the settings, and the change under way. */
type Stored = { changed: Partial<Contracts>; pending: Contracts | null };

const STORED = 'contracts';
const DOMAIN_FORM = /^(0x[0-9a-fA-F]{40}) on chain ([0-9]+)$/;

export class ContractBook {
  readonly first: SigningContract;
  readonly #platform: Platform;
  #current: Contracts;
  #stored: Stored;

  /** Throws when the settings are for other contracts than the data directory. */
  constructor({ chainId, contracts }: Pick<Config, 'chainId' | 'contracts'>, platform: Platform) {
    const configured: Contracts = { ...contracts, chainId };
    const stored = platform.read(STORED);
    this.#platform = platform;
    this.#stored = stored === undefined ? { changed: {}, pending: null } : JSON.parse(stored);
    this.first = openFirst(configured, platform);
    this.#current = { ...configured, ...this.first, ...this.#stored.changed };
    const { pending } = this.#stored;
    const known = [this.first, this.#current, ...(pending === null ? [] : [pending])];
    // Another setting over the same directory would leave orders resting under signatures that no longer hold.
    if (!known.some((each) => isSameSigning(each, configured))) {
      throw new ConfigError(
        `EXCHANGE_ADDRESS, CHAIN_ID: the orders of this data directory are for ${describe(this.#current)}`,
      );
    }
  }

  get current(): Contracts {
    return this.#current;
  }

  get pending(): Contracts | null {
    return this.#stored.pending;
  }

  /** N1. */
  begin(target: Contracts): void {
    this.#write({ ...this.#stored, pending: target });
  }

  /** No shard has heard of it. */
  withdraw(): void {
    this.#write({ ...this.#stored, pending: null });
  }

  /** N1. Every shard has it. */
  complete(): void {
    const { pending } = this.#stored;
    if (pending === null) return;
    this.#write({ changed: pending, pending: null });
    this.#current = pending;
  }

  #write(stored: Stored): void {
    this.#platform.write(STORED, JSON.stringify(stored));
    this.#stored = stored;
  }
}

export function isSameSigning(a: SigningContract, b: SigningContract): boolean {
  return a.chainId === b.chainId && a.exchange.toLowerCase() === b.exchange.toLowerCase();
}

export function describe({ chainId, exchange }: SigningContract): string {
  return `${exchange} on chain ${chainId}`;
}

function openFirst(configured: Contracts, platform: Platform): SigningContract {
  if (platform.domain === undefined) platform.fixDomain(describe(configured));
  const [, exchange, chainId] = DOMAIN_FORM.exec(platform.domain!)!;
  return { exchange: exchange!, chainId: Number(chainId) };
}
