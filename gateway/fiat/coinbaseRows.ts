/**
 * Transactions as Coinbase lists them, and in the words that all providers share. A row that deviates from the
 * documentation invalidates the whole answer, because it decides about money.
 */
import { ProviderDown } from '../http/providerCalls.ts';
import type { FiatKind, ProviderAmount, ProviderStatus, ProviderTransaction } from './provider.ts';

/** The USDC of an off-ramp has to arrive this long after the person has confirmed. */
const DEADLINE_MS = 30 * 60_000;
const MAX_TEXT = 200;
const DECIMAL = /^(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?$/;
const CURRENCY = /^[A-Za-z0-9.]{1,20}$/;
const TRANSACTION_HASH = /^0x[0-9a-f]{64}$/;

/** An unknown status means nothing: Coinbase may add new ones. */
const STATUSES: Readonly<Record<string, ProviderStatus>> = {
  TRANSACTION_STATUS_CREATED: 'created',
  TRANSACTION_STATUS_STARTED: 'started',
  TRANSACTION_STATUS_SUCCESS: 'success',
  TRANSACTION_STATUS_FAILED: 'failed',
  TRANSACTION_STATUS_EXPIRED: 'expired',
  ONRAMP_TRANSACTION_STATUS_CREATED: 'created',
  ONRAMP_TRANSACTION_STATUS_AWAITING_AUTH: 'created',
  ONRAMP_TRANSACTION_STATUS_AWAITING_PAYMENT: 'created',
  ONRAMP_TRANSACTION_STATUS_IN_PROGRESS: 'started',
  ONRAMP_TRANSACTION_STATUS_SUCCESS: 'success',
  ONRAMP_TRANSACTION_STATUS_FAILED: 'failed',
  ONRAMP_ORDER_STATUS_PENDING_AUTH: 'created',
  ONRAMP_ORDER_STATUS_PENDING_PAYMENT: 'created',
  ONRAMP_ORDER_STATUS_PENDING_VERIFICATION: 'created',
  ONRAMP_ORDER_STATUS_PROCESSING: 'started',
  ONRAMP_ORDER_STATUS_COMPLETED: 'success',
  ONRAMP_ORDER_STATUS_FAILED: 'failed',
};

type CoinbasePage = { readonly rows: readonly ProviderTransaction[]; readonly nextKey: string | null };

/** @param reference rows with another reference do not belong to this session */
export function parseCoinbasePage(answer: unknown, kind: FiatKind, reference: string): CoinbasePage {
  const { transactions, next_page_key: key } = recordOf(answer, 'page');
  if (!Array.isArray(transactions)) throw wrong('transactions');
  const rows = transactions.map((row) => {
    const fields = recordOf(row, 'transaction');
    const named = optionalText(fields, 'partner_user_ref');
    if (named !== null && named !== reference) throw wrong('partner_user_ref');
    return kind === 'onramp' ? boughtOf(fields) : soldOf(fields);
  });
  if (key !== undefined && key !== null && typeof key !== 'string') throw wrong('next_page_key');
  return { rows, nextKey: key ? key : null };
}

type Fields = Readonly<Record<string, unknown>>;

function soldOf(fields: Fields): ProviderTransaction {
  const createdAtMs = timeOf(fields, 'created_at');
  return {
    ...commonOf(fields, createdAtMs),
    asset: requiredText(fields, 'asset').toLowerCase(),
    network: requiredText(fields, 'network').toLowerCase(),
    amount: amountOf(fields, 'sell_amount'),
    toAddress: lowerCase(optionalText(fields, 'to_address')),
    fromAddress: lowerCase(optionalText(fields, 'from_address')),
    deadlineMs: createdAtMs + DEADLINE_MS,
  };
}

function boughtOf(fields: Fields): ProviderTransaction {
  return {
    ...commonOf(fields, timeOf(fields, 'created_at')),
    asset: requiredText(fields, 'purchase_currency').toLowerCase(),
    network: requiredText(fields, 'purchase_network').toLowerCase(),
    amount: amountOf(fields, 'purchase_amount'),
    toAddress: lowerCase(optionalText(fields, 'wallet_address')),
    fromAddress: null,
    deadlineMs: null,
  };
}

function commonOf(fields: Fields, createdAtMs: number) {
  const status = requiredText(fields, 'status');
  const hash = lowerCase(optionalText(fields, 'tx_hash'));
  const changed = ['updated_at', 'completed_at'].find(
    (name) => typeof fields[name] === 'string' && fields[name] !== '',
  );
  const changedMs = changed === undefined ? createdAtMs : timeOf(fields, changed);
  return {
    transactionId: requiredText(fields, 'transaction_id'),
    status: Object.hasOwn(STATUSES, status) ? STATUSES[status] : 'none',
    // Without a transaction it is left out, empty or 0x.
    txHash: hash !== null && TRANSACTION_HASH.test(hash) ? hash : null,
    createdAtMs,
    // An unknown time is given as the year 1.
    updatedAtMs: Math.max(createdAtMs, changedMs),
  };
}

/** PROVIDER-2. Null where the amount is not fixed. */
function amountOf(fields: Fields, name: string): ProviderAmount | null {
  if (fields[name] === undefined || fields[name] === null) return null;
  const { value, currency } = recordOf(fields[name], name);
  if (value === '' || value === undefined) return null;
  if (typeof value !== 'string' || !DECIMAL.test(value)) throw wrong(name);
  if (typeof currency !== 'string' || !CURRENCY.test(currency)) throw wrong(name);
  return { value, currency: currency.toUpperCase() };
}

function timeOf(fields: Fields, name: string): number {
  const timeMs = Date.parse(requiredText(fields, name));
  if (Number.isNaN(timeMs)) throw wrong(name);
  return timeMs;
}

function requiredText(fields: Fields, name: string): string {
  const text = optionalText(fields, name);
  if (text === null) throw wrong(name);
  return text;
}

/** Null for a text that is left out or empty. */
function optionalText(fields: Fields, name: string): string | null {
  const text = fields[name];
  if (text === undefined || text === null || text === '') return null;
  if (typeof text !== 'string' || text.length > MAX_TEXT) throw wrong(name);
  return text;
}

function recordOf(value: unknown, name: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(name);
  return value as Fields;
}

function lowerCase(text: string | null): string | null {
  return text === null ? null : text.toLowerCase();
}

function wrong(name: string): ProviderDown {
  return new ProviderDown(`its ${name} is not as documented`);
}
