/** The markets related to one (RULES.md 12.38). */
import type { MarketEntry } from './catalog.ts';

type Related = {
  /** One market for each question, the oldest. */
  readonly distinct: readonly MarketEntry[];
  readonly total: number;
};

/**
 * Two questions are the same if they differ only in case and spacing. A series may have many thousands of markets, so
 * each market is a step of its own, which yields no text.
 */
export function* distinctQuestions(
  markets: readonly MarketEntry[],
  isShown: (market: MarketEntry) => boolean,
): Generator<string, Related> {
  const byQuestion = new Map<string, MarketEntry>();
  let total = 0;
  for (const market of markets) {
    if (isShown(market)) {
      const question = market.details.title.trim().replaceAll(/\s+/g, ' ').toLowerCase();
      if (!byQuestion.has(question)) byQuestion.set(question, market);
      total++;
    }
    yield '';
  }
  return { distinct: [...byQuestion.values()], total };
}
