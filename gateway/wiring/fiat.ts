/** Opens the parts that cash in and out, over the books of the exchange or over a chain (RULES.md 16). */
import type { Clock } from '../../shared/base/clock.ts';
import type { Funding } from '../account/funding.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import type { MemberRole } from '../base/memberRole.ts';
import { EvmRail } from '../fiat/evmRail.ts';
import { Fiat } from '../fiat/fiat.ts';
import { LedgerRail } from '../fiat/ledgerRail.ts';
import type { FiatProvider } from '../fiat/provider.ts';
import { openProviders } from '../fiat/providers.ts';
import { RailDown } from '../fiat/rail.ts';
import type { ChainLink } from '../shardlink/settlementLink.ts';
import type { Views } from '../shardlink/views.ts';
import type { Control } from './control.ts';
import type { QueryPool } from './queryPool.ts';

type FiatPartOptions = {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly control: Control;
  readonly views: Views;
  readonly funding: Pick<Funding, 'move'>;
  readonly queries: Pick<QueryPool, 'isSigned'>;
  readonly publicUrl: () => string;
  /** Null without a chain. */
  readonly chainLink: ChainLink | null;
  /** Null without a cluster. */
  readonly member: Pick<MemberRole, 'isLeading'> | null;
};

export type FiatParts = {
  readonly fiat: Fiat;
  /** Null with a chain: there the books move no money for it. */
  readonly ledgerRail: LedgerRail | null;
};

/** Throws ConfigError if a provider's settings are wrong. */
export function openFiat(options: FiatPartOptions): FiatParts {
  const { config, clock, log, control, publicUrl, chainLink } = options;
  const providers = openProviders(config.fiat);
  const ledgerRail = chainLink === null ? ledgerRailOf(options, providers) : null;
  const fiat = new Fiat({
    sessions: control.fiatSessions,
    transfers: control.fiatTransfers,
    webhooks: control.fiatWebhooks,
    statementRows: control.fiatStatements,
    providers,
    rail: ledgerRail ?? evmRailOf(options, chainLink!),
    clock,
    log,
    publicUrl,
    isOwnAddress: (address) => ownAddresses(control.contracts.current).has(address),
    // This process holds the lock of control.db; in a cluster another member may lead.
    mayBroadcast: () => options.member === null || options.member.isLeading,
  });
  return { fiat, ledgerRail };
}

function ledgerRailOf(
  { config, clock, log, control, views, funding, queries }: FiatPartOptions,
  providers: ReadonlyMap<string, FiatProvider>,
): LedgerRail {
  const { accounts, accountStates, contracts } = control;
  const addresses = [...providers.values()].flatMap(({ ledgerAddress }) => ledgerAddress ?? []);
  return new LedgerRail({
    rows: control.railTransactions,
    books: {
      move: (account, kind, amountMicro, reference) => funding.move(account, kind, amountMicro, reference),
      availableMicro: (account) => views.accounts.availableMicro(account),
    },
    accounts: {
      ownerOf: (address) => accounts.ownerOf(address),
      isLinked: (address) => accounts.grants.isLinked(address),
      mayWithdraw: (account) => accountStates.reducingRefusal(account) === null,
    },
    isSigned: async (account, address, digest, signature) => {
      const result = await queries.isSigned(account, { address, digest, signature });
      if (!result.ok) throw new RailDown('signatures cannot be verified now');
      return result.value;
    },
    contract: () => contracts.current,
    providerAddresses: new Set(addresses),
    blockMs: config.fiat.blockMs,
    clock,
    onError: (error) => log.error({ err: error }, 'a transaction of the ledger rail failed; it is tried again'),
  });
}

function evmRailOf({ config, control }: FiatPartOptions, link: ChainLink): EvmRail {
  const { accounts, accountStates } = control;
  return new EvmRail({
    link,
    mayPay: (address) => accountStates.reducingRefusal(accounts.ownerOf(address)) === null,
    mostFeeWei: Number(config.chain!.mostFeeWei),
  });
}

function ownAddresses(contracts: Control['contracts']['current']): ReadonlySet<string> {
  return new Set(Object.values(contracts).map((each) => String(each).toLowerCase()));
}
