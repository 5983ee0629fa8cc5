/** The markets that the account's rows name, loaded when needed and kept. */
import { useEffect, useState } from 'preact/hooks';
import type { Market } from '../../../shared/client/types.ts';
import { get } from './api.ts';

const MARKETS_AT_ONCE = 20;

const known = new Map<string, Market>();
const tried = new Set<string>();

/** False while the first load of one of these markets is under way: its name would make its row higher. */
export function wereTried(rows: readonly { readonly market_id: string }[]): boolean {
  return rows.every(({ market_id }) => tried.has(market_id));
}

/** Loads a few at a time; markets that could not be loaded are tried again with the next rows. */
export function useMarkets(rows: readonly { readonly market_id: string }[]): ReadonlyMap<string, Market> {
  const [loads, setLoads] = useState(0);
  const unknown = [...new Set(rows.map(({ market_id }) => market_id))].filter((id) => !known.has(id));
  useEffect(() => {
    const load = async (id: string): Promise<void> => {
      known.set(id, await get<Market>(`/v1/markets/${id}`));
    };
    const loading = unknown.slice(0, MARKETS_AT_ONCE);
    void Promise.allSettled(loading.map(load)).then((results) => {
      const isNews = loading.some((id) => !tried.has(id));
      for (const id of loading) tried.add(id);
      if (isNews || results.some(({ status }) => status === 'fulfilled')) setLoads(loads + 1);
    });
  }, [unknown.join(), loads]);
  return known;
}
