/** The end of a failed command: its exit code, and lines that say what is wrong and what helps. */

import { errorCode, errorOf } from '../../../base/thrown.ts';
import { isRefusal } from '../../answers.ts';
import { ApprovalNeededError } from '../../approvalNeeded.ts';
import { ApiError, RedirectError } from '../../http.ts';
import { UnknownOutcomeError } from '../../placedOrder.ts';
import { SlowReaderError } from '../../stream/eventFeed.ts';
import { StreamError } from '../../stream/exchangeStream.ts';
import { detailsInWords } from './details.ts';
import { NeedsError, UsageError } from './errors.ts';
import { hintFor } from './hints.ts';

export const EXIT = { DONE: 0, REFUSED: 1, USAGE: 2, NETWORK: 3, SIGN_IN: 4, INTERRUPTED: 130 } as const;

/** For the reference page and the help. */
export const EXIT_MEANINGS: readonly (readonly [number, string])[] = [
  [EXIT.DONE, 'done'],
  [EXIT.REFUSED, 'the exchange has refused, a file is wrong, or `doctor` has found a fault'],
  [EXIT.USAGE, 'the command line is wrong; nothing was sent'],
  [EXIT.NETWORK, 'no answer: the exchange was not reached or did not answer in time'],
  [EXIT.SIGN_IN, 'not signed in, or the exchange does not accept the key or session'],
  [EXIT.INTERRUPTED, 'interrupted with Ctrl-C before it was done'],
];

/** The failure as `--json` prints it. */
type Failure = {
  readonly error: string;
  readonly code: string;
  readonly status?: number;
  readonly details?: unknown;
  readonly retry_after?: number;
  readonly request_id?: string;
  readonly hint?: string;
};

/** The exchange has not answered for orders that were sent: they may have been placed. */
export class UnknownOrdersError extends Error {
  override readonly name = 'UnknownOrdersError';
  readonly orderHashes: readonly string[];

  constructor(orderHashes: UnknownOrdersError['orderHashes'], cause: Error) {
    super(`no answer (${cause.message}): the order may have been placed`);
    this.orderHashes = orderHashes;
  }
}

type Explained = { readonly failure: Failure; readonly exitCode: number };

const UNAUTHORIZED = 401;

/** @param at the address of the request, for people who use several */
export function explain(error: unknown, at = ''): Explained {
  const exchange = at === '' ? 'the exchange' : `the exchange at ${at}`;
  if (error instanceof ApiError) return explainRefusal(error, exchange);
  if (error instanceof StreamError) {
    return { failure: withHint({ error: error.message, code: error.code }), exitCode: EXIT.REFUSED };
  }
  if (error instanceof UsageError) {
    return { failure: { error: error.message, code: 'USAGE' }, exitCode: EXIT.USAGE };
  }
  if (error instanceof NeedsError) {
    return { failure: { error: error.message, code: 'NOT_SIGNED_IN', hint: error.hint }, exitCode: EXIT.SIGN_IN };
  }
  if (error instanceof UnknownOutcomeError) {
    const { message } = error;
    const hint = 'look before you repeat it: `pmx orders`, `pmx balances`';
    return { failure: { error: message, code: 'NO_ANSWER', hint }, exitCode: EXIT.NETWORK };
  }
  if (error instanceof UnknownOrdersError) {
    const { message, orderHashes } = error;
    const hint = `\`pmx order ${orderHashes[0]}\` finds out`;
    return {
      failure: { error: message, code: 'NO_ANSWER', details: { order_hashes: orderHashes }, hint },
      exitCode: EXIT.NETWORK,
    };
  }
  if (error instanceof ApprovalNeededError) {
    const hint = `another operator runs: pmx admin approvals approve ${error.approval.id}`;
    const failure = { error: error.message, code: 'APPROVAL_NEEDED', details: error.approval, hint };
    return { failure, exitCode: EXIT.REFUSED };
  }
  return explainOther(error, exchange);
}

function explainRefusal(error: ApiError, exchange: string): Explained {
  const { message, code, status, details, retryAfter, requestId } = error;
  const failure = {
    error: message,
    code,
    status,
    ...(details === undefined ? {} : { details }),
    ...(retryAfter === null ? {} : { retry_after: retryAfter }),
    ...(requestId === null ? {} : { request_id: requestId }),
  };
  // An answer of a proxy, or of another server, is not a refusal.
  if (!isRefusal(error)) {
    const words = code === 'UNKNOWN' ? '' : `, with: ${message}`;
    const said = `${exchange} was not reached: something else answered${words}`;
    return { failure: { ...failure, error: said, hint: DOCTOR }, exitCode: EXIT.NETWORK };
  }
  return { failure: withHint(failure), exitCode: status === UNAUTHORIZED ? EXIT.SIGN_IN : EXIT.REFUSED };
}

function explainOther(error: unknown, exchange: string): Explained {
  if (error instanceof RedirectError) {
    const failure = { error: error.message, code: 'UNREACHABLE', hint: 'is this the address of the exchange itself?' };
    return { failure, exitCode: EXIT.NETWORK };
  }
  const { name, message, cause } = errorOf(error);
  if (name === 'TimeoutError' || name === 'AbortError') {
    const failure = { error: `${exchange} did not answer in time`, code: 'NO_ANSWER', hint: DOCTOR };
    return { failure, exitCode: EXIT.NETWORK };
  }
  if (cause instanceof Error && name === 'TypeError') {
    const ofFirst = cause instanceof AggregateError ? errorCode(cause.errors[0]) : undefined;
    const reason = errorCode(cause) ?? ofFirst ?? cause.message;
    return {
      failure: { error: `cannot reach ${exchange} (${reason})`, code: 'UNREACHABLE', hint: DOCTOR },
      exitCode: EXIT.NETWORK,
    };
  }
  const code =
    error instanceof SlowReaderError ? 'SLOW_READER' : error instanceof RangeError ? 'INVALID_VALUE' : 'FAILED';
  return { failure: { error: message ?? String(error), code }, exitCode: EXIT.REFUSED };
}

const DOCTOR = 'is it running, and is the address right? `pmx doctor` looks at every step';

function withHint(failure: Failure): Failure {
  const hint = hintFor(failure.code, failure.error);
  return hint === undefined ? failure : { ...failure, hint };
}

/** For a person: the error, then the details, then the remedy. */
export function linesOf({ error, code, status, details, retry_after, request_id, hint }: Failure): string[] {
  const where = status === undefined ? '' : ` (${code}, HTTP ${status})`;
  const wait = retry_after === undefined ? '' : `; try again in ${retry_after} s`;
  return [
    `error: ${error}${where}${wait}`,
    ...detailsInWords(details).map((line, at) => `${at === 0 ? '  details     ' : '              '}${line}`),
    ...(request_id === undefined ? [] : [`  request id  ${request_id}`]),
    ...(hint === undefined ? [] : [`  hint        ${hint}`]),
  ];
}
