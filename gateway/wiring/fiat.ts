/** Opens the parts that cash in and out, over the books of the exchange or over a chain (RULES.md 16). */
import type { MemberRole } from '../base/memberRole.ts';
import { Fiat } from '../fiat/fiat.ts';
import type { LedgerRail } from '../fiat/ledgerRail.ts';
import { openProviders } from '../fiat/providers.ts';
import type { CashParts } from './cashRails.ts';
import type { Control } from './control.ts';
import type { SettlementSide } from './settlementSide.ts';

type FiatPartOptions = Omit<CashParts, 'providers'> & {
  readonly publicUrl: () => string;
  readonly settlement: Pick<SettlementSide, 'openCash'>;
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
  const { config, clock, log, control, publicUrl, settlement } = options;
  const providers = openProviders(config.fiat);
  const { rail, ledgerRail } = settlement.openCash({ ...options, providers });
  const fiat = new Fiat({
    sessions: control.fiatSessions,
    transfers: control.fiatTransfers,
    webhooks: control.fiatWebhooks,
    statementRows: control.fiatStatements,
    providers,
    rail,
    clock,
    log,
    publicUrl,
    isOwnAddress: (address) => ownAddresses(control.contracts.current).has(address),
    // This process holds the lock of control.db; in a cluster another member may lead.
    mayBroadcast: () => options.member === null || options.member.isLeading,
  });
  return { fiat, ledgerRail };
}

function ownAddresses(contracts: Control['contracts']['current']): ReadonlySet<string> {
  return new Set(Object.values(contracts).map((each) => String(each).toLowerCase()));
}
