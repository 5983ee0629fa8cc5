/** Reads of the HTTP interface, and a hook that keeps a read fresh while its view is shown. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { errorMessage } from '../../../shared/base/thrown.ts';
import { isRefusal, isUnanswered, leavesOpen } from '../../../shared/client/answers.ts';
import { ApiError, sendRequest } from '../../../shared/client/http.ts';
import { prepareRequest } from '../../../shared/client/request.ts';
import type { Bbo } from '../../../shared/client/types.ts';
import { dateTime } from './times.ts';
import { nowComing } from './whole.ts';

/** `value` stays while a newer one is being loaded or cannot be loaded. */
export type Loaded<T> = { readonly value: T | null; readonly error: string | null };

const MOST_PRICES = 50;
const SECOND_MS = 1000;
const NOT_FOUND = 404;
const RETRY_SECONDS = 2;

export function get<T>(path: string): Promise<T> {
  return sendRequest<T>(location.origin, prepareRequest('GET', path, undefined));
}

/** The best prices of Yes in these markets, by market. */
export async function bestPrices(marketIds: readonly string[]): Promise<ReadonlyMap<string, Bbo>> {
  const found = new Map<string, Bbo>();
  for (let at = 0; at < marketIds.length; at += MOST_PRICES) {
    const asked = marketIds.slice(at, at + MOST_PRICES).map((id) => ({ market_id: id, outcome_index: 0 }));
    const request = prepareRequest('POST', '/v1/market-data/bbo', asked);
    const { markets } = await sendRequest<{ markets: Bbo[] }>(location.origin, request);
    for (const bbo of markets) found.set(bbo.market_id, bbo);
  }
  return found;
}

/**
 * Loads when the key changes and then again and again. While the page is hidden nothing is loaded; overdue loads run as
 * soon as the page is shown. An answer that comes after a later one is dropped.
 * @param everySeconds 0: once
 * @param round a new value loads at once; the loaded value stays until then
 */
export function useLoaded<T>(key: string, load: () => Promise<T>, everySeconds = 0, round = 0): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { readonly key: string }>({ key, value: null, error: null });
  const order = useRef({ key, started: 0, shown: 0, load }).current;
  // The newest rendering of the view decides what is loaded.
  order.load = load;
  useEffect(() => {
    order.key = key;
    let isLeft = false;
    let isDue = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const arrived = nowComing();
    const run = async (): Promise<void> => {
      isDue = document.hidden;
      if (isDue) return;
      let waitMs = everySeconds * SECOND_MS;
      order.started += 1;
      const number = order.started;
      try {
        const value = await order.load();
        // Rounds may follow each other faster than they are answered: until then the answer to an earlier one is shown.
        if (order.key === key && number > order.shown) {
          order.shown = number;
          setState({ key, value, error: null });
        }
      } catch (error) {
        if (isLeft) return;
        const retryAfter = error instanceof ApiError ? error.retryAfter : null;
        const isFinal = isRefusal(error) && error.status === NOT_FOUND;
        waitMs = isFinal ? 0 : Math.max(waitMs, (retryAfter ?? RETRY_SECONDS) * SECOND_MS);
        const text = isRefusal(error) ? textOf(error) : `${textOf(error)} Trying again.`;
        setState((before) => ({ key, value: before.key === key ? before.value : null, error: text }));
      } finally {
        arrived();
      }
      if (!isLeft && waitMs > 0) timer = setTimeout(run, waitMs);
    };
    const onShown = (): void => {
      if (isDue) void run();
    };
    document.addEventListener('visibilitychange', onShown);
    void run();
    return () => {
      isLeft = true;
      arrived();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onShown);
    };
  }, [key, round]);
  return state.key === key ? state : { value: null, error: null };
}

/** Returns an error in words for a person. */
export function textOf(error: unknown): string {
  if (isRefusal(error)) return refusalOf(error);
  if (error instanceof ApiError) return `No answer of the exchange came (HTTP status ${error.status}).`;
  if (isUnanswered(error)) return 'The exchange does not answer.';
  return errorMessage(error) || 'This did not work.';
}

function refusalOf({ code, message, retryAfter }: ApiError): string {
  if (code === 'TRADING_TIMEOUT_ACTIVE') return `You are taking a break from trading${until(retryAfter)}.`;
  if (code === 'RATE_LIMITED') return `Too many requests came from here: wait${forSeconds(retryAfter)}.`;
  const text = message.replace(/^./, (first) => first.toUpperCase());
  return retryAfter === null ? text : `${text}: wait${forSeconds(retryAfter)}.`;
}

function until(seconds: number | null): string {
  return seconds === null ? '' : ` until ${dateTime(Date.now() + seconds * SECOND_MS)}`;
}

function forSeconds(seconds: number | null): string {
  return seconds === null ? '' : ` for ${seconds} s`;
}

/** The same for a request that changes something. */
export function changeTextOf(error: unknown): string {
  return `${textOf(error)}${leavesOpen(error) ? ' It may have been carried out: look before you repeat it.' : ''}`;
}
