/** The SQL of facts about the whole catalogue (RULES.md 12.7, 12.8). Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import { SPORT_TEAMS } from '../../shared/tables/catalogEvents.ts';
import { ALL_CATEGORIES, MARKET_COUNTS, statusOfFacet } from '../../shared/tables/catalogMarkets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';

type CatalogMetadata = {
  readonly categories: readonly string[];
  readonly total_markets: number;
  readonly active_markets: number;
};

type League = { readonly name: string; readonly teams: string[] };
type Sport = { readonly name: string; readonly leagues: League[] };
type SportsTaxonomy = { readonly sports: readonly Sport[] };

const COUNT = select(MARKET_COUNTS, 'facet', 'markets');
const TEAM = select(SPORT_TEAMS, 'category', 'league', 'team');

/** Each step of the scan searches for the next category, so the cost grows only with the number of categories. */
export const CATEGORIES_SQL = `
  WITH RECURSIVE found (category) AS (
    SELECT min(category) FROM market_counts WHERE category > '${ALL_CATEGORIES}'
    UNION ALL
    SELECT (SELECT min(category) FROM market_counts WHERE category > found.category) FROM found
    WHERE found.category IS NOT NULL)
  SELECT category FROM found WHERE category IS NOT NULL`;

export class CatalogFacts {
  readonly metadata: () => CatalogMetadata;
  readonly #teams: Database.Statement<[], SelectedBy<typeof TEAM>>;

  constructor(db: Database.Database) {
    const categories = db.prepare<[], string>(CATEGORIES_SQL).pluck();
    const counts = db.prepare<[string], SelectedBy<typeof COUNT>>(
      `SELECT ${COUNT.sql} FROM market_counts WHERE category = ?`,
    );
    this.#teams = db.prepare(`SELECT ${TEAM.sql} FROM sport_teams ORDER BY category, league, team`);
    this.metadata = () => {
      const facets = counts.all(ALL_CATEGORIES);
      const active = facets.filter(({ facet }) => statusOfFacet(facet) === 'active');
      const sum = (rows: typeof facets): number => rows.reduce((total, { markets }) => total + markets, 0);
      return { categories: categories.all(), total_markets: sum(facets), active_markets: sum(active) };
    };
  }

  /** The answer has every row of its table. */
  taxonomy(): SportsTaxonomy {
    const sports: Sport[] = [];
    for (const { category, league, team } of this.#teams.iterate()) {
      if (sports.at(-1)?.name !== category) sports.push({ name: category, leagues: [] });
      const { leagues } = sports.at(-1)!;
      // The league itself is its first row.
      if (team === '') leagues.push({ name: league, teams: [] });
      else leagues.at(-1)!.teams.push(team);
    }
    return { sports };
  }
}
