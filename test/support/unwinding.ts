/** Fills of an engine, and the amounts that undo one: for tests of unwinding (RULES.md 17.40). */
import { receivedIn, unwindingOf } from '../../engine/settlement/unwinding.ts';
import { decodeEvents, type EventOf } from '../../shared/wire/events.ts';
import type { EngineRig } from './engineRig.ts';

type Party = { account: number; side: number; outcome: number; feeBps: number; order: string; isOpen: boolean };
export type UnwindableFill = {
  trade: number;
  market: number;
  lots: number;
  yesTicks: number;
  ticksPerUnit: number;
  maker: Party;
  taker: Party;
};

/** Every fill of the journal that was not undone, with its orders. */
export function fillsOf({ engine, journal }: EngineRig): UnwindableFill[] {
  const fills = new Map<number, UnwindableFill>();
  const orders = new Map<number, Party>();
  for (const { events } of journal.rows) {
    for (const event of decodeEvents(events.words, events.word, events.end)) {
      if (event.name === 'ORDER') orders.set(event.slot, partyOf(event));
      else if (event.name === 'CLOSED') orders.get(event.slot)!.isOpen = false;
      else if (event.name === 'UNWOUND') fills.delete(event.tradeSequence);
      else if (event.name === 'FILL') {
        const { tradeSequence: trade, market, lots, yesTicks, makerSlot, takerSlot } = event;
        const { ticksPerUnit } = engine.state.markets.peek(market)!;
        const [maker, taker] = [orders.get(makerSlot)!, orders.get(takerSlot)!];
        fills.set(trade, { trade, market, lots, yesTicks, ticksPerUnit, maker, taker });
      }
    }
  }
  return [...fills.values()];
}

function partyOf({ account, kind, feeBps, hash }: EventOf<'ORDER'>): Party {
  const { side, outcome } = kind;
  return { account, side, outcome, feeBps, order: Buffer.from(hash).toString('hex'), isOpen: true };
}

/** Tokens or USDC that an order has received in these fills, before fees. */
export function receivedBy(order: string, fills: readonly UnwindableFill[]): number {
  let received = 0;
  for (const fill of fills) {
    for (const { order: own, side, outcome } of [fill.maker, fill.taker]) {
      if (own === order) received += receivedIn(fill, side, outcome);
    }
  }
  return received;
}

/** @returns the code of the reply. */
export function unwind(rig: EngineRig, fill: UnwindableFill): number {
  const fills = fillsOf(rig);
  const party = (of: Party) => ({ ...of, received: receivedBy(of.order, fills) });
  const changes = unwindingOf(fill, party(fill.maker), party(fill.taker));
  const of = { market: fill.market, account: fill.maker.account, takerAccount: fill.taker.account };
  return rig.unwind({ ...of, reference: fill.trade }, changes).reply.code;
}
