/**
 * The draft that a visitor has in the ticket. It stays over a reload of the page and over a sign-in at a provider.
 *
 * Invariants:
 *   DRAFT-1  A kept draft is read once, for its own market, and only within `KEPT_MS`; a member that this page does not
 *            know, as of a page before an upgrade, has the value of a new draft.
 *   DRAFT-2  An address that names a side, as a button of another view has, begins a new draft, unless the kept one was
 *            left at that address.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Levels } from '../../../shared/client/stream/bookReplica.ts';
import { type Kind, startCents, type Ticket } from './preview.ts';
import { keepInTab, takeFromTab } from './storage.ts';

/** Taking the best prices now; a limit; waiting in the book and never taking. */
type Tab = 'market' | 'limit' | 'maker';

export type Draft = Ticket & {
  readonly tab: Tab;
  /** True once the visitor has chosen the price; until then it is the book's. */
  readonly isPriceChosen: boolean;
};

export type ChangeDraft = (changed: Partial<Draft>) => void;

export const TABS: readonly (readonly [Tab, label: string])[] = [
  ['market', 'Market'],
  ['limit', 'Limit'],
  ['maker', 'Maker'],
];
/** The kinds of orders of each tab, the first one being that of a new draft. */
const KINDS: Readonly<Record<Tab, readonly Kind[]>> = {
  market: ['MARKET'],
  limit: ['GTC', 'FAK', 'FOK'],
  maker: ['GTC', 'GTD'],
};
const KEPT = 'ticket';
const KEPT_MS = 1_800_000;
const HOUR_MINUTES = 60;
const MINUTE_MS = 60_000;
const CENTS_A_UNIT = 100;
const TOKENS = /^\d{1,9}(?:\.\d{1,6})?$/;
/** The values that these members may have; others are texts, numbers and flags. */
const CHOICES: Readonly<Record<string, readonly unknown[]>> = {
  side: ['BUY', 'SELL'],
  tab: Object.keys(KINDS),
  selfTrade: ['none', 'cancel_newest', 'cancel_oldest', 'cancel_both'],
};

/** A new draft slips by a cent at most, whatever the grid. A button of another view may name the side and the size. */
function newDraft(ticksPerUnit: number): Draft {
  const query = new URLSearchParams(location.search);
  const size = query.get('size') ?? '';
  return {
    tab: 'market',
    side: query.get('side') === 'sell' ? 'SELL' : 'BUY',
    kind: 'MARKET',
    cents: '',
    isPriceChosen: false,
    size: TOKENS.test(size) ? size : '10',
    budget: '10',
    isInTokens: false,
    slippageTicks: Math.ceil(ticksPerUnit / CENTS_A_UNIT),
    expiresAt: '',
    isPostOnly: false,
    leastNet: '',
    selfTrade: 'none',
  };
}

/** The draft with its changes, whose other members follow: a kind of its tab, post-only for makers, a time for GTD. */
function withChanges(draft: Draft, changed: Partial<Draft>): Draft {
  const next = { ...draft, ...changed };
  const kinds = KINDS[next.tab];
  const kind = kinds.includes(next.kind) ? next.kind : kinds[0];
  const expiresAt = kind === 'GTD' && next.expiresAt === '' ? minutesAhead(HOUR_MINUTES) : next.expiresAt;
  // A price of the other side or tab would be a trade where the visitor wants to wait, or the reverse.
  const isPriceChosen =
    next.side === draft.side && next.tab === draft.tab ? next.isPriceChosen : changed.isPriceChosen === true;
  return { ...next, kind, expiresAt, isPostOnly: next.tab === 'maker', isPriceChosen };
}

/**
 * The draft of the market. Its price is the best of the book when its side, tab or outcome is chosen, and stays there:
 * it does not move while it is read.
 */
export function useDraft(marketId: string, outcome: 0 | 1, levels: Levels, ticksPerUnit: number): [Draft, ChangeDraft] {
  const [draft, setDraft] = useState(() => keptDraft(marketId, ticksPerUnit));
  const newest = useRef({ draft, outcome });
  newest.current = { draft, outcome };
  const change: ChangeDraft = (changed) => setDraft((before) => withChanges(before, changed));
  const hasPrices = levels.bids.length + levels.asks.length > 0;
  const { side, tab, isPriceChosen } = draft;
  // Before the browser paints: no tab is seen without its price.
  useLayoutEffect(() => {
    if (isPriceChosen || tab === 'market') return;
    change({ cents: startCents(levels, side, tab === 'maker', ticksPerUnit) });
  }, [side, tab, outcome, hasPrices, isPriceChosen]);
  useEffect(() => {
    const onLeave = (): void => {
      keepInTab(KEPT, { marketId, keptMs: Date.now(), search: location.search, ...newest.current });
    };
    addEventListener('pagehide', onLeave);
    return () => removeEventListener('pagehide', onLeave);
  }, [marketId]);
  return [draft, change];
}

type KeptDraft = {
  readonly marketId?: unknown;
  readonly keptMs?: unknown;
  readonly search?: unknown;
  readonly outcome?: unknown;
  readonly draft?: unknown;
};

let kept: KeptDraft | null | undefined;

/** DRAFT-1, DRAFT-2. Null for another market, and for a draft that is too old. */
function keptOf(marketId: string): KeptDraft | null {
  kept ??= takeFromTab(KEPT);
  const { search } = location;
  const isAnew = search !== kept?.search && new URLSearchParams(search).has('side');
  const isOurs = kept?.marketId === marketId && Date.now() - Number(kept.keptMs) < KEPT_MS && !isAnew;
  return isOurs ? (kept ?? null) : null;
}

/** The outcome of the kept draft; null without one. */
export function keptOutcome(marketId: string): 0 | 1 | null {
  const found = keptOf(marketId);
  return found === null ? null : found.outcome === 1 ? 1 : 0;
}

function keptDraft(marketId: string, ticksPerUnit: number): Draft {
  const fresh = newDraft(ticksPerUnit);
  const found = keptOf(marketId)?.draft;
  kept = null;
  const members = Object.entries(found ?? {}).filter(([name, value]) => isKnown(fresh, name, value));
  return withChanges(fresh, Object.fromEntries(members));
}

function isKnown(fresh: Draft, name: string, value: unknown): boolean {
  const choices = CHOICES[name];
  if (choices !== undefined) return choices.includes(value);
  return typeof value === typeof Object.entries(fresh).find(([known]) => known === name)?.[1];
}

/** The browser's time this many minutes from now, in the format of a field. */
export function minutesAhead(minutes: number): string {
  const time = new Date(Date.now() + minutes * MINUTE_MS);
  return new Date(time.getTime() - time.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}
