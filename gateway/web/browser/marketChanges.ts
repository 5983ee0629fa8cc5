/** Counts the changes of the open market (status, stage, fee, times), so that it is loaded again at once. */
import { useEffect, useState } from 'preact/hooks';
import { streamOf, useStreamOwner } from './stream.ts';

/** @returns a number that grows with each change */
export function useMarketChanges(marketId: string): number {
  const [changes, setChanges] = useState(0);
  const owner = useStreamOwner();
  useEffect(() => {
    if (owner === null) return;
    const stream = streamOf(owner).openMarketChanges({
      markets: [marketId],
      onEvent: ({ type }) => {
        if (type === 'change' || type === 'state') setChanges((before) => before + 1);
      },
    });
    return () => stream.close();
  }, [marketId, owner]);
  return changes;
}
