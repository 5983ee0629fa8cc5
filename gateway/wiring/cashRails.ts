/** Opens the rail of cashing in and out: the books of the exchange, or a chain (RULES.md 16). */
import type { Clock } from '../../shared/base/clock.ts';
import type { Funding } from '../account/funding.ts';
import type { ChainConfig } from '../base/chainSettings.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import { EvmRail } from '../fiat/evmRail.ts';
import { LedgerRail } from '../fiat/ledgerRail.ts';
import type { FiatProvider } from '../fiat/provider.ts';
import { type Rail, RailDown } from '../fiat/rail.ts';
import type { ChainLink } from '../shardlink/settlementLink.ts';
import type { Views } from '../shardlink/views.ts';
import type { Control } from './control.ts';
import type { QueryPool } from './queryPool.ts';

export type CashParts = {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly control: Control;
  readonly views: Views;
  readonly funding: Pick<Funding, 'move'>;
  readonly queries: Pick<QueryPool, 'isSigned'>;
  readonly providers: ReadonlyMap<string, FiatProvider>;
};

type Cash = {
  readonly rail: Rail;
  /** Null with a chain: there the books move no money for it. */
  readonly ledgerRail: LedgerRail | null;
};
export type OpenCash = (parts: CashParts) => Cash;

export function ledgerCash({ config, clock, log, control, views, funding, queries, providers }: CashParts): Cash {
  const { accounts, accountStates, contracts } = control;
  const addresses = [...providers.values()].flatMap(({ ledgerAddress }) => ledgerAddress ?? []);
  const ledgerRail = new LedgerRail({
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
  return { rail: ledgerRail, ledgerRail };
}

export function chainCash({ control }: CashParts, link: ChainLink, { mostFeeWei }: ChainConfig): Cash {
  const { accounts, accountStates } = control;
  const mayPay = (address: string): boolean => accountStates.reducingRefusal(accounts.ownerOf(address)) === null;
  return { rail: new EvmRail({ link, mayPay, mostFeeWei: Number(mostFeeWei) }), ledgerRail: null };
}
