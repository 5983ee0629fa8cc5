/** The life of a market in words: when it opens and closes, is decided and pays, and what its fee is. */
import type { Market } from '../../../shared/client/types.ts';
import { outcomeName } from './format.ts';

/** A step is past, comes next, or comes after that. */
type Step = {
  readonly name: string;
  readonly state: 'done' | 'next' | 'later';
  /** Null where it is not known, or has not come. */
  readonly time: string | null;
  readonly text: string;
};

type Lived = Pick<
  Market,
  'status' | 'outcomes' | 'payouts' | 'trading_starts_at' | 'trading_ends_at' | 'resolved_at' | 'settled_at'
>;

const DECIDED = ['resolved', 'settled', 'cancelled'];
const PAID_AS_A_WHOLE = 1_000_000;
const BPS_A_PERCENT = 100;

export function timelineOf(market: Lived, nowMs: number): Step[] {
  const { status, trading_starts_at: opens, trading_ends_at: closes, resolved_at, settled_at } = market;
  const isDecided = DECIDED.includes(status);
  const hasClosed = isDecided || status === 'locked' || status === 'resolving' || Date.parse(closes) <= nowMs;
  const hasOpened = hasClosed || (status !== 'draft' && status !== 'pending');
  const steps = [
    { name: 'Opens', isDone: hasOpened, time: opens, text: '' },
    { name: 'Closes', isDone: hasClosed, time: closes, text: 'Orders are accepted until then.' },
    {
      name: status === 'cancelled' ? 'Cancelled' : 'Decided',
      isDone: isDecided,
      time: resolved_at ?? null,
      text: isDecided ? decisionOf(market) : 'After it has closed, by the rules below.',
    },
    {
      name: 'Paid',
      isDone: settled_at !== undefined,
      time: settled_at ?? null,
      text: paymentOf(isDecided, settled_at !== undefined),
    },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  return steps.map(({ isDone, ...step }, index) => ({
    ...step,
    state: isDone ? 'done' : index === next ? 'next' : 'later',
  }));
}

/** "Warmer", or what each token pays where none wins alone; empty before the decision. */
export function decisionOf(market: Pick<Market, 'outcomes' | 'payouts'>): string {
  const { payouts } = market;
  if (payouts === undefined) return '';
  const winner = payouts.indexOf(PAID_AS_A_WHOLE);
  if (winner !== -1) return `${outcomeName(market, winner)}: each of its tokens pays $1.`;
  const shares = payouts.map((paid, index) => `each token of ${outcomeName(market, index)} pays ${centsOf(paid)}`);
  return `${shares.join(', ')}.`;
}

/** The fee is a share of what is received, in that asset (RULES.md 2.3). */
export function feeInWords(feeBps: number): string {
  if (feeBps === 0) return 'There is no fee.';
  const hundredths = feeBps % BPS_A_PERCENT;
  const percent = `${Math.floor(feeBps / BPS_A_PERCENT)}${hundredths === 0 ? '' : `.${twoDigits(hundredths)}`}`;
  return `${percent}% of what you receive, whether your order waits or trades at once: \
of the tokens that you buy, of the dollars that you sell for. Orders that do not trade cost nothing.`;
}

function paymentOf(isDecided: boolean, isPaid: boolean): string {
  if (isPaid) return 'Everything was paid.';
  return isDecided
    ? 'Claim it in your portfolio, or wait: it is paid without a claim too.'
    : 'Soon after the decision.';
}

/** Millionths of a dollar in cents. */
function centsOf(millionths: number): string {
  return `${String(millionths / 10_000)}¢`;
}

function twoDigits(hundredths: number): string {
  return String(hundredths).padStart(2, '0').replace(/0$/, '');
}
