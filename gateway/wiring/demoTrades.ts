/**
 * The trades of the past of a demo, with their chances: for each market a walk that ends at the value at which
 * the demo quotes it today. A pure function of its arguments.
 *
 * Invariants:
 *   DEMOTRADES-1  Trades are in the order of their times, after their market was listed and before the present.
 *   DEMOTRADES-2  At every time the chances of the results of one question add up to one.
 */

/** The markets of an event that are traded, of which one comes true if they exclude each other. */
export type Question = {
  readonly listedMs: number;
  readonly isExclusive: boolean;
  readonly markets: readonly { readonly id: string; readonly value: number; readonly trades: number }[];
};

export type DemoTrade = { readonly atMs: number; readonly marketId: string; readonly chance: number };

const HOUR_MS = 3_600_000;
/** Between two points of a walk; a trade between them has the chance on the line. */
const STEP_MS = 2 * HOUR_MS;
/** The width of a step in log-odds, and the share of the way to an even chance that each step back takes. */
const STEP = 0.22;
const RETURN = 0.01;
/** The last trade of a market is so long ago at most. */
const LATEST_MS = 6 * HOUR_MS;

export function demoTrades(questions: readonly Question[], nowMs: number, random: () => number): DemoTrade[] {
  const trades = questions.flatMap((question) => tradesOf(question, nowMs, random));
  return trades.sort((a, b) => a.atMs - b.atMs);
}

function tradesOf({ listedMs, isExclusive, markets }: Question, nowMs: number, random: () => number): DemoTrade[] {
  const walks = markets.map(({ value }) => walkTo(value, Math.ceil((nowMs - listedMs) / STEP_MS) + 1, random));
  const chanceOf = (at: number, atMs: number): number => {
    const chances = walks.map((walk) => chanceIn(walk, (nowMs - atMs) / STEP_MS));
    return isExclusive ? chances[at] / chances.reduce((sum, chance) => sum + chance, 0) : chances[at];
  };
  return markets.flatMap(({ id, trades }, at) =>
    Array.from({ length: trades }, (_, trade) => {
      // More trades came lately than long ago.
      const share = Math.sqrt((trade + random()) / trades);
      const atMs = Math.floor(
        trade === trades - 1
          ? nowMs - random() * Math.min(LATEST_MS, nowMs - listedMs)
          : listedMs + share * (nowMs - listedMs),
      );
      return { atMs, marketId: id, chance: chanceOf(at, atMs) };
    }),
  );
}

/** Log-odds from the present back into the past. */
function walkTo(value: number, points: number, random: () => number): number[] {
  const walk = [Math.log(value / (1 - value))];
  while (walk.length < points + 1) walk.push(walk.at(-1)! * (1 - RETURN) + (random() - random()) * STEP);
  return walk;
}

/** @param back steps before the present */
function chanceIn(walk: readonly number[], back: number): number {
  const at = Math.floor(back);
  const odds = walk[at] + (walk[at + 1] - walk[at]) * (back - at);
  return 1 / (1 + Math.exp(-odds));
}
