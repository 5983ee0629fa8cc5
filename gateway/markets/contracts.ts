/**
 * The contracts and chain of this exchange, for which clients sign orders, and a pending change of them that not every
 * shard has carried out yet (RULES.md 5.6). A new data directory takes them from the settings; later changes by the
 * administrator are in control.db and take precedence. Owner: the gateway thread.
 *
 * Invariants:
 *   CONTRACTSTORE-1  `pending` is durable before the change is sent to any shard, and becomes `current` in one write
 *                    when all shards have it.
 *   CONTRACTSTORE-2  `first` never changes: shards are started with it, and read later changes from their journals.
 */
import type { ContractAddresses } from '../base/chainSettings.ts';
import { type Config, ConfigError } from '../base/config.ts';
import type { Platform } from '../base/platform.ts';

export type Contracts = ContractAddresses & Readonly<{ chainId: number }>;

/** The part of the contracts that signatures contain. */
type SigningContract = Pick<Contracts, 'chainId' | 'exchange'>;

/** The form in control.db: differences from the settings, and the pending change. */
type Stored = { changed: Partial<Contracts>; pending: Contracts | null };

const STORED = 'contracts';
const DOMAIN_FORM = /^(0x[0-9a-fA-F]{40}) on chain ([0-9]+)$/;

export class ContractStore {
  readonly first: SigningContract;
  readonly #platform: Platform;
  readonly #configured: Contracts;
  #current: Contracts;
  #stored: Stored;

  /** Throws when the settings are for other contracts than the data directory. */
  constructor({ chainId, contracts }: Pick<Config, 'chainId' | 'contracts'>, platform: Platform) {
    const configured: Contracts = { ...contracts, chainId };
    this.#platform = platform;
    this.#configured = configured;
    this.#stored = readStored(platform);
    this.first = openFirst(configured, platform);
    this.#current = this.#effective();
    const { pending } = this.#stored;
    const known = [this.first, this.#current, ...(pending === null ? [] : [pending])];
    // With other settings on the same directory, the open orders' signatures would no longer be valid.
    if (!known.some((each) => isSameSigning(each, configured))) {
      throw new ConfigError(
        `EXCHANGE_ADDRESS, CHAIN_ID: the orders of this data directory are for ${describe(this.#current)}`,
      );
    }
  }

  /** Reads the stored contracts again. The platform has been reloaded. */
  reload(): void {
    this.#stored = readStored(this.#platform);
    this.#current = this.#effective();
  }

  get current(): Contracts {
    return this.#current;
  }

  get pending(): Contracts | null {
    return this.#stored.pending;
  }

  /** CONTRACTSTORE-1. */
  startChange(target: Contracts): void {
    this.#write({ ...this.#stored, pending: target });
  }

  /** Withdraws the change, which was sent to no shard. */
  withdraw(): void {
    this.#write({ ...this.#stored, pending: null });
  }

  /** CONTRACTSTORE-1. Every shard has it. */
  complete(): void {
    const { pending } = this.#stored;
    if (pending === null) return;
    this.#write({ changed: pending, pending: null });
    this.#current = pending;
  }

  #effective(): Contracts {
    return { ...this.#configured, ...this.first, ...this.#stored.changed };
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

function readStored(platform: Platform): Stored {
  const stored = platform.read(STORED);
  return stored === undefined ? { changed: {}, pending: null } : JSON.parse(stored);
}

function openFirst(configured: Contracts, platform: Platform): SigningContract {
  if (platform.domain === undefined) platform.fixDomain(describe(configured));
  const [, exchange, chainId] = DOMAIN_FORM.exec(platform.domain!)!;
  return { exchange: exchange, chainId: Number(chainId) };
}
