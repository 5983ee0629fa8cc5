/** The gateway's part in money between chain and ledger, for tests without one: it follows news into an engine. */
import type { News } from '../../engine/settlement/news.ts';
import type { Settlement } from '../../engine/settlement/settlement.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { referenceHash } from '../../shared/crypto/referenceHash.ts';

type LedgerDouble = {
  /** The account whose escrow the wallet is; null if there is none. */
  accountOf(wallet: string): number | null;
  move(account: number, movement: number, amount: number, reference: Uint8Array, market: number | null): number;
};

export class MoneyGateway {
  /** Accounts that are frozen because their wallet leaves. */
  readonly leaving = new Set<number>();
  /** By wallet: each reported floor, as often as it was reported. */
  readonly floors: (readonly [wallet: string, floor: number])[] = [];
  readonly #ledger: LedgerDouble;

  constructor(ledger: LedgerDouble) {
    this.#ledger = ledger;
  }

  /** Carries out the reported movements. It may end anywhere, and is called again. */
  follow(settlement: Settlement, news: News): void {
    const { rows } = settlement;
    for (const each of news.due()) {
      if (each.kind === 'money') this.#carryOut(settlement.money, each.facts);
      if (each.kind === 'exit') {
        const account = this.#ledger.accountOf(each.facts.wallet);
        if (account !== null) this.leaving[each.facts.isLeaving ? 'add' : 'delete'](account);
      }
      if (each.kind === 'nonceFloor') this.floors.push([each.facts.wallet, each.facts.floor]);
      if (each.kind === 'walletMissing') rows.setEscrow(each.facts.account, `0x${'77'.repeat(20)}`);
      news.acknowledge(each.number);
    }
  }

  #carryOut(side: Settlement['money'], facts: MoneyFacts): void {
    const { money } = side;
    const { event, kind, wallet, amount, reference, market } = facts;
    const account = this.#ledger.accountOf(wallet);
    if (account === null) {
      money.wait(event, 'unknown_wallet');
      return;
    }
    money.accept(event, account);
    if (side.isLeaving(event)) this.leaving.add(account);
    const movement = kind === 'exit' ? MOVEMENT.WITHDRAWAL : MOVEMENT.DEPOSIT;
    const hash = referenceHash(account, movement, reference);
    const sets = kind === 'sets' ? market : null;
    let code = this.#ledger.move(account, movement, Number(amount), hash, sets);
    if (code === E.MARKET_NOT_ACTIVE) code = this.#ledger.move(account, movement, Number(amount), hash, null);
    if (code !== OK) money.wait(event, String(code));
  }
}

type MoneyFacts = Extract<ReturnType<News['due']>[number], { kind: 'money' }>['facts'];
