/**
 * Makes the sandbox provider misbehave as a test or a person at its page has set it. Real providers have done all of
 * this.
 */

export const STATUSES = ['created', 'started', 'success', 'failed', 'expired', 'refunded'] as const;
export type DealStatus = (typeof STATUSES)[number];

export type Switches = {
  /** Delay between the customer's return and the listing of a sale. */
  readonly listDelayMs: number;
  /** Delay between the arrival of USDC and the payment to the bank. */
  readonly payoutDelayMs: number;
  readonly hookDelayMs: number;
  /** The number of times each event is sent; 0 loses it. */
  readonly hookCopies: number;
  /** True if later events are sent first. */
  readonly hooksReversed: boolean;
  /** True if events say the opposite of the truth. */
  readonly hooksContradict: boolean;
  /** The status that lists show for every deal; empty: the true status. */
  readonly listedStatus: DealStatus | '';
  /** The transaction that lists name for every sale; empty: the true one. */
  readonly listedHash: string;
  readonly listedNetwork: string;
  readonly paymentsDeclined: boolean;
  /** True if a sale fails after its USDC has arrived. */
  readonly payoutsFail: boolean;
  /** True if USDC of failed sales goes back to its sender. */
  readonly returnsUsdc: boolean;
  /**
   * Statements leave out the first deal, list one that was never made, name another amount, or say that the money of
   * purchases was given back or charged back.
   */
  readonly statements: 'right' | 'omitting' | 'inventing' | 'altering' | 'refunding' | 'charging_back';
  /** The behaviour of the interface for partners. */
  readonly answers: 'right' | 'errors' | 'hanging' | 'garbage' | 'empty';
};

export const USUAL: Switches = {
  listDelayMs: 2000,
  payoutDelayMs: 1000,
  hookDelayMs: 0,
  hookCopies: 1,
  hooksReversed: false,
  hooksContradict: false,
  listedStatus: '',
  listedHash: '',
  listedNetwork: 'polygon',
  paymentsDeclined: false,
  payoutsFail: false,
  returnsUsdc: true,
  statements: 'right',
  answers: 'right',
};

const MAX_DELAY_MS = 86_400_000;
const MAX_COPIES = 10;
const ANSWERS: readonly unknown[] = ['right', 'errors', 'hanging', 'garbage', 'empty'];

const STATEMENTS: readonly unknown[] = ['right', 'omitting', 'inventing', 'altering', 'refunding', 'charging_back'];

/** @returns null if a name or value is unknown */
export function trySwitched(switches: Switches, changes: unknown): Switches | null {
  if (typeof changes !== 'object' || changes === null || Array.isArray(changes)) return null;
  const isRight = Object.entries(changes).every(([name, value]) => Object.hasOwn(USUAL, name) && isValue(name, value));
  return isRight ? { ...switches, ...changes } : null;
}

function isValue(name: string, value: unknown): boolean {
  if (name === 'answers') return ANSWERS.includes(value);
  if (name === 'statements') return STATEMENTS.includes(value);
  if (name === 'listedStatus') return value === '' || STATUSES.some((status) => status === value);
  if (name === 'listedHash') return value === '' || (typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value));
  if (name === 'listedNetwork') return typeof value === 'string' && /^[a-z]{1,20}$/.test(value);
  if (name === 'hookCopies') return isCount(value, MAX_COPIES);
  return name.endsWith('Ms') ? isCount(value, MAX_DELAY_MS) : typeof value === 'boolean';
}

export function isCount(value: unknown, max: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= max;
}
