/** Reads of the HTTP interface, and a hook that keeps one of them fresh while its view is shown. */
import { useEffect, useState } from 'preact/hooks';

import { ApiError, sendRequest } from '../../shared/client/http.ts';
import { prepareRequest } from '../../shared/client/request.ts';
import type { Bbo } from '../../shared/client/types.ts';

/** `value` stays while a newer one is loaded, or cannot be. */
export type Loaded<T> = { readonly value: T | null; readonly error: string | null };

const MOST_PRICES = 50;
const SECOND_MS = 1000;
const NOT_FOUND = 404;

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
 * Loads when the key changes and then again and again. While the page is hidden nothing is loaded.
 * @param everySeconds 0: once
 * @param round another one loads at once; what was loaded stays until then
 */
export function useLoaded<T>(key: string, load: () => Promise<T>, everySeconds = 0, round = 0): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { readonly key: string }>({ key, value: null, error: null });
  useEffect(() => {
    let isLeft = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = async (): Promise<void> => {
      let waitMs = everySeconds * SECOND_MS;
      if (!document.hidden) {
        try {
          const value = await load();
          if (!isLeft) setState({ key, value, error: null });
        } catch (error) {
          const { retryAfter } = error as { retryAfter?: number | null };
          waitMs = Math.max(waitMs, (retryAfter ?? 2) * SECOND_MS);
          if (!isLeft)
            setState((before) => ({ key, value: before.key === key ? before.value : null, error: textOf(error) }));
          if (error instanceof ApiError && error.status === NOT_FOUND) return;
          if (everySeconds === 0) timer = setTimeout(run, waitMs);
        }
      }
      if (!isLeft && everySeconds > 0) timer = setTimeout(run, waitMs);
    };
    void run();
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [key, round]);
  return state.key === key ? state : { value: null, error: null };
}

/** An error in words for a person. */
export function textOf(error: unknown): string {
  if (error instanceof ApiError) return error.message.replace(/^./, (first) => first.toUpperCase());
  const { message } = error as { message?: string };
  return error instanceof TypeError || !message ? 'The exchange does not answer. Trying again.' : message;
}
