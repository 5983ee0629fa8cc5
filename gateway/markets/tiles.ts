/** Chooses the few markets of an event that fit the tile of a home page (RULES.md 12.35). */
import type { MarketEntry } from './catalog.ts';
import { typeOf } from './enumerations.ts';

const CORE_TYPES: ReadonlySet<string> = new Set(['moneyline', 'spread', 'total']);
/** Providers write the words for a team's own points with either separator. */
const TEAM_TOTAL = /^team[ _-]totals?$/i;

/** The lines of the game itself. An event without any, which is not about a game, keeps its other markets. */
export function coreLines(markets: readonly MarketEntry[]): MarketEntry[] {
  const lines = markets.filter((market) => CORE_TYPES.has(typeOf(market)) && !isTeamTotal(market));
  return lines.length > 0 ? lines : markets.filter((market) => typeOf(market) === 'other');
}

function isTeamTotal(market: MarketEntry): boolean {
  const { subcategories = [], stat_category = '', player_team_abbrev } = market.details;
  if (typeOf(market) !== 'total') return false;
  return player_team_abbrev !== undefined || [...subcategories, stat_category].some((word) => TEAM_TOTAL.test(word));
}
