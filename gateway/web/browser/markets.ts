/** The markets that the account's rows name, loaded when needed and kept. */
import { useEffect, useState } from 'preact/hooks';
import type { Market } from '../../../shared/client/types.ts';
import { get } from './api.ts';

const MARKETS_AT_ONCE = 20;

const known = new Map<string, Market>();

/** Loads a few at a time; markets that could not be loaded are tried again with the next rows. */
export function useMarkets(rows: readonly { readonly market_id: string }[]): ReadonlyMap<string, Market> {
  const [loads, setLoads] = useState(0);
  const unknown = [...new Set(rows.map(({ market_id }) => market_id))].filter((id) => !known.has(id));
  useEffect(() => {
    const load = async (id: string): Promise<void> => {
      known.set(id, await get<Market>(`/v1/markets/${id}`));
    };
    void Promise.allSettled(unknown.slice(0, MARKETS_AT_ONCE).map(load)).then((results) => {
      if (results.some(({ status }) => status === 'fulfilled')) setLoads(loads + 1);
    });
  }, [unknown.join(), loads]);
  return known;
}
