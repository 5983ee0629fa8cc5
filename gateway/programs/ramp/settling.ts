/**
 * Settles the sandbox provider's deals: it sends USDC that it has sold, pays for bought USDC once that has arrived, and
 * returns USDC that it may not keep.
 * Owner: the provider's thread.
 *
 * Invariants:
 *   SETTLING-1  A transfer is stored with its signature before it is sent, and only these bytes are sent again. Another
 *               transfer for the same deal is signed only once the first can no longer get into a block.
 *   SETTLING-2  Money taken from a bank is given back only once its USDC can never leave.
 *   SETTLING-3  A bank is paid only for USDC that has arrived in a final block, once for each arrival.
 *   SETTLING-4  USDC that pays for no deal, or for an ended deal, goes back to its sender.
 */
import { isFinal } from '../../../shared/chain/depth.ts';
import type { Desk } from './desk.ts';
import type { Arrival, OwnTransfer, RailMoment } from './rail.ts';
import type { DealRow, RampStore, TransferRow } from './store.ts';

const TRANSFER_SEC = 30 * 60;
const NONCE_BYTES = 32;
/** Arrivals in blocks of the last moment may become final a little later. */
const GRACE_SEC = 60;

export class Settling {
  readonly #desk: Desk;
  readonly #store: RampStore;
  #isBusy = false;

  constructor(desk: Desk) {
    this.#desk = desk;
    this.#store = desk.store;
  }

  /** Moves every deal on as far as it can go now. Rejects if the rail does not answer; a later call goes on. */
  async tick(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      const moment = await this.#desk.rail.moment();
      const areAllFinal = await this.#seeArrivals(moment);
      for (const deal of this.#store.openDeals()) await this.#carryOn(deal, moment, areAllFinal);
      for (const arrival of this.#store.arrivalsToReturn()) {
        if (this.#store.hasTransfer('return', arrival.tx_hash)) continue;
        await this.#sign('return', arrival.tx_hash, arrival.from_address, arrival.value_micro, moment);
      }
      for (const transfer of this.#store.openTransfers()) await this.#push(transfer, moment);
    } finally {
      this.#isBusy = false;
    }
  }

  /** @returns false while an arrival is not final. */
  async #seeArrivals(moment: RailMoment): Promise<boolean> {
    for (;;) {
      const before = this.#store.setting('arrivals') ?? '';
      const { arrivals, cursor } = await this.#desk.rail.arrivals(before);
      if (arrivals.length === 0) {
        if (cursor !== before) this.#store.setSetting('arrivals', cursor);
        return true;
      }
      // Blocks that are not final may be removed: they are read again.
      if (!arrivals.every(({ block }) => isFinal(block, moment))) {
        for (const arrival of arrivals) if (isFinal(arrival.block, moment)) this.#accept(arrival);
        return false;
      }
      this.#store.together(() => {
        for (const arrival of arrivals) this.#accept(arrival);
        this.#store.setSetting('arrivals', cursor);
      });
    }
  }

  /** SETTLING-3, SETTLING-4 */
  #accept({ txHash, from: from_address, valueMicro: value_micro, name = txHash }: Arrival): void {
    this.#store.together(() => {
      if (this.#store.arrival(name) !== undefined) return;
      const deal = this.#store.dealAwaiting(from_address, value_micro);
      const isKept = deal?.is_open === 1;
      const state = isKept ? 'kept' : 'to_return';
      this.#store.addArrival({ tx_hash: name, from_address, value_micro, deal_id: deal?.id ?? null, state });
      if (deal === undefined) return;
      const funded_ms = this.#desk.clock.nowMs();
      if (isKept) this.#desk.change(deal, 'started', { tx_hash: txHash, funded_ms });
      else this.#store.changeDeal(deal.id, { tx_hash: txHash, funded_ms });
    });
  }

  async #carryOn(deal: DealRow, moment: RailMoment, areAllFinal: boolean): Promise<void> {
    if (deal.kind === 'onramp') {
      if (this.#store.hasTransfer('deliver', deal.id)) return;
      await this.#sign('deliver', deal.id, deal.wallet, deal.amount_micro, moment);
      this.#desk.change(deal, 'started');
      return;
    }
    const { payoutDelayMs, payoutsFail, returnsUsdc } = this.#desk.switches;
    const nowMs = this.#desk.clock.nowMs();
    if (deal.funded_ms === null) {
      const isOver = areAllFinal && moment.finalizedSec * 1000 >= deal.deadline_ms! + GRACE_SEC * 1000;
      if (isOver) this.#desk.change(deal, 'expired', { is_open: 0 });
    } else if (nowMs >= deal.funded_ms + payoutDelayMs) {
      this.#store.together(() => {
        if (!payoutsFail) this.#store.addBank(deal.id, 'paid_out', deal, nowMs);
        else if (returnsUsdc)
          this.#store.changeArrival(this.#store.arrivalOf(deal.id)!.tx_hash, { state: 'to_return' });
        this.#desk.change(deal, payoutsFail ? 'failed' : 'success', { is_open: 0 });
      });
    }
  }

  /** SETTLING-1 */
  async #sign(
    purpose: TransferRow['purpose'],
    subject: string,
    to: string,
    valueMicro: number,
    { finalizedSec }: RailMoment,
  ): Promise<void> {
    const nowSec = Math.max(finalizedSec, Math.floor(this.#desk.clock.nowMs() / 1000));
    const nonce = `0x${this.#desk.randomHex(NONCE_BYTES)}`;
    const transfer: OwnTransfer = { to, valueMicro, validBeforeSec: nowSec + TRANSFER_SEC, nonce };
    const signature = await this.#desk.rail.sign(transfer);
    this.#store.addTransfer({
      nonce,
      purpose,
      subject,
      to_address: to,
      value_micro: valueMicro,
      valid_before_sec: transfer.validBeforeSec,
      signature,
      state: 'open',
      tx_hash: null,
    });
  }

  async #push(row: TransferRow, moment: RailMoment): Promise<void> {
    const { nonce, to_address: to, value_micro: valueMicro, valid_before_sec: validBeforeSec, signature } = row;
    const now = await this.#desk.rail.stateOf(nonce);
    if (now.state === 'used') {
      if (row.tx_hash !== now.txHash) this.#named(row, now.txHash);
      if (isFinal(now.block, moment)) this.#ended(row, now.txHash);
    } else if (moment.finalizedSec >= validBeforeSec || (now.state === 'cancelled' && isFinal(now.block, moment))) {
      this.#dead(row);
    } else {
      await this.#desk.rail.send({ to, valueMicro, validBeforeSec, nonce }, signature);
    }
  }

  #named({ nonce, purpose, subject }: TransferRow, tx_hash: string): void {
    this.#store.together(() => {
      this.#store.changeTransfer(nonce, { tx_hash });
      if (purpose !== 'deliver') return;
      const deal = this.#store.deal(subject)!;
      this.#desk.change(deal, deal.status, { tx_hash });
    });
  }

  #ended({ nonce, purpose, subject }: TransferRow, tx_hash: string): void {
    this.#store.together(() => {
      this.#store.changeTransfer(nonce, { state: 'final', tx_hash });
      if (purpose === 'deliver') {
        this.#desk.change(this.#store.deal(subject)!, 'success', { tx_hash, is_open: 0 });
        return;
      }
      const { deal_id } = this.#store.arrival(subject)!;
      this.#store.changeArrival(subject, { state: 'returned' });
      if (deal_id !== null) this.#desk.change(this.#store.deal(deal_id)!, 'refunded', { is_open: 0 });
    });
  }

  /** SETTLING-2. The next tick signs a dead return anew. */
  #dead({ nonce, purpose, subject }: TransferRow): void {
    this.#store.together(() => {
      this.#store.changeTransfer(nonce, { state: 'dead' });
      if (purpose !== 'deliver') return;
      const deal = this.#store.deal(subject)!;
      this.#store.addBank(deal.id, 'given_back', deal, this.#desk.clock.nowMs());
      this.#desk.change(deal, 'failed', { is_open: 0 });
    });
  }
}
