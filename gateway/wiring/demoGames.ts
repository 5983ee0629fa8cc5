/** The events of the demo's leagues and their markets, as a provider would list them. */
import type { CatalogueLine, EventFields, MarketFields } from '../../shared/api/catalogue.ts';
import type { LiveScore } from '../../shared/api/events.ts';
import { toSlug } from '../markets/marketDetails.ts';

export type Competitor = { readonly name: string; readonly code: string; readonly player: string };
export type Score = Omit<LiveScore, 'updated_at'>;

/** The format of `data/demo/leagues.json`. */
export type League = {
  readonly sport: string;
  readonly league: string;
  readonly series: string;
  /** Three results, of which a provider lists two as a pair of mirrored markets; two people; or a field of many. */
  readonly format: 'threeWay' | 'mirror' | 'headToHead' | 'field';
  readonly unit?: string;
  readonly totals?: readonly number[];
  readonly spread?: number;
  readonly teamTotal?: number;
  /** The statistic of a player, and its line. */
  readonly prop?: readonly [stat: string, line: number];
  readonly period?: string;
  readonly novelty?: string;
  /** The score of the game in play. */
  readonly live?: Score;
  /** The places at which the events of a field are held. */
  readonly places?: readonly string[];
  readonly teams: readonly Competitor[];
};

export type Game = {
  readonly home: Competitor;
  readonly away: Competitor;
  readonly round: number;
  readonly status: 'upcoming' | 'live';
  readonly startsAt: string;
  readonly endsAt: string;
  /** The time from which the markets trade; absent: from now on. */
  readonly tradesFrom: string | undefined;
};

type MarketOfGame = Partial<MarketFields> & { readonly title: string; readonly description: string };

/** The name under which all games are provided. */
const PROVIDER = 'playbook';
/** For a field: the share of all chances of each place in the list. */
const FAVOURITES = [34, 22, 16, 12, 9, 7] as const;

/** Returns the event's line, then those of its markets. */
export function linesOfGame(league: League, game: Game): CatalogueLine[] {
  const { home, away } = game;
  const title = `${home.name} v ${away.name}`;
  const slug = game.round === 0 ? toSlug(title) : `${toSlug(title)}-round-${game.round + 1}`;
  const code = `${home.code}${away.code}${game.round === 0 ? '' : game.round + 1}`;
  const ticker = `${league.series}-${code}`;
  const isOfPeople = league.format === 'headToHead';
  const event: EventFields = {
    slug,
    title,
    description: `${league.sport}, round ${game.round + 1} of the ${league.league}.`,
    status: game.status,
    category: 'Sports',
    sport_league: league.league,
    sport_teams: [home.name, away.name],
    image_url: `https://images.example/${league.league.toLowerCase()}.png`,
    start_time: game.startsAt,
    external_event_id: ticker,
    external_platform: PROVIDER,
    external_event_subtitle: `Round ${game.round + 1}`,
    external_event_mutually_exclusive: league.format === 'threeWay',
    ...(isOfPeople ? { home_player_full_name: home.player, away_player_full_name: away.player } : {}),
  };
  const markets = [...winners(league, game), ...totalsOf(league, game), ...extras(league, game)];
  const lines = markets.map((market): CatalogueLine => {
    const { external_event_id } = market;
    const complete: MarketFields = {
      event_slug: slug,
      category: 'Sports',
      subcategories: [league.sport, league.league],
      series_ticker: ticker,
      resolution_source: `https://${PROVIDER}.example/${ticker.toLowerCase()}`,
      settlement_sources: [{ name: league.league, url: `https://${league.league.toLowerCase()}.example` }],
      ...(game.tradesFrom === undefined ? {} : { trading_starts_at: game.tradesFrom }),
      trading_ends_at: game.endsAt,
      ...market,
      external_source: PROVIDER,
      external_event_id: `${ticker}-${external_event_id}`,
    };
    return { market: complete };
  });
  return [{ event }, ...lines];
}

/** Returns an event with one market for each competitor; one competitor wins. */
export function linesOfRace(league: League, place: string, at: number, startsAt: string): CatalogueLine[] {
  const slug = toSlug(place);
  const ticker = `${league.series}-${at + 1}`;
  const event: EventFields = {
    slug,
    title: place,
    description: `${league.sport}: event ${at + 1} of the ${league.league}.`,
    category: 'Sports',
    sport_league: league.league,
    sport_teams: league.teams.map(({ name }) => name),
    start_time: startsAt,
    external_event_id: ticker,
    external_platform: PROVIDER,
    external_event_mutually_exclusive: true,
  };
  const ofField = {
    event_slug: slug,
    category: 'Sports',
    subcategories: [league.sport, league.league],
    external_source: PROVIDER,
    external_market_type: 'other',
    series_ticker: league.series,
    trading_ends_at: startsAt,
  } as const;
  const winning = league.teams.map(({ name, code, player }, rank): CatalogueLine => {
    const chance = FAVOURITES[rank];
    const market: MarketFields = {
      ...ofField,
      external_event_id: `${ticker}-${code}`,
      title: `${name} to win ${place}`,
      description: `Yes if ${player} is first in the official result.`,
      outcome_probabilities: [chance, 100 - chance],
      ticks_per_unit: 1000,
    };
    return { market };
  });
  const { novelty } = league;
  if (novelty === undefined) return [{ event }, ...winning];
  const odd: MarketFields = {
    ...ofField,
    external_event_id: `${ticker}-ODD`,
    subcategories: [...ofField.subcategories, 'novelty'],
    title: `${novelty} (${place})`,
    description: 'Yes if the broadcast shows it.',
  };
  return [{ event }, ...winning, { market: odd }];
}

/** Returns the moneylines: three; or two, the second being the first one mirrored; or one. */
function winners({ format }: League, { home, away }: Game): MarketOfGame[] {
  const type = { external_market_type: 'moneyline' } as const;
  const beats = (winner: Competitor, loser: Competitor): MarketOfGame => ({
    ...type,
    external_event_id: winner.code,
    title: `${winner.name} to beat ${loser.name}`,
    description: `Yes if ${winner.name} has the higher score at the end of the game.`,
  });
  switch (format) {
    case 'threeWay': {
      const draw: MarketOfGame = {
        ...type,
        external_event_id: 'DRAW',
        title: `${home.name} and ${away.name} to draw`,
        subtitle: 'Draw',
        description: 'Yes if both have the same score at the end of regular time.',
      };
      return [{ ...beats(home, away), subtitle: 'Home win' }, draw, { ...beats(away, home), subtitle: 'Away win' }];
    }
    case 'mirror':
      return [
        { ...beats(home, away), outcomes: [home.name, away.name], outcome_probabilities: [56, 44] },
        { ...beats(away, home), outcomes: [away.name, home.name], outcome_probabilities: [44, 56] },
      ];
    default:
      return [{ ...beats(home, away), outcomes: [home.name, away.name], open_interest: 5200, volume_24h: 830 }];
  }
}

function totalsOf({ totals = [], spread, unit, period }: League, { home, away }: Game): MarketOfGame[] {
  const over = (line: number): MarketOfGame => ({
    external_market_type: 'total',
    external_event_id: `T${line}`,
    title: `${home.name} v ${away.name}: over ${line} ${unit}`,
    description: `Yes if both together have more than ${line} ${unit}.`,
    outcomes: ['Over', 'Under'],
    line,
  });
  const markets = totals.map(over);
  if (period !== undefined) {
    const line = Math.floor(totals[0] / 2) + 0.5;
    markets.push({ ...over(line), external_event_id: `P${line}`, title: `${over(line).title} (${period})`, period });
  }
  if (spread === undefined) return markets;
  markets.push({
    external_market_type: 'spread',
    external_event_id: `S${home.code}${spread}`,
    title: `${home.name} -${spread} against ${away.name}`,
    description: `Yes if ${home.name} wins by more than ${spread} ${unit}.`,
    line: -spread,
    fee_bps: 30,
  });
  return markets;
}

/** Returns markets about one team or one player, and novelty markets. */
function extras({ sport, league, teamTotal, prop, novelty, unit }: League, game: Game): MarketOfGame[] {
  const { home, away, round } = game;
  const markets: MarketOfGame[] = [];
  if (teamTotal !== undefined) {
    markets.push({
      external_market_type: 'total',
      external_event_id: `TT${home.code}${teamTotal}`,
      subcategories: [sport, league, 'Team Total'],
      title: `${home.name}: over ${teamTotal} ${unit}`,
      description: `Yes if ${home.name} has more than ${teamTotal} ${unit}.`,
      player_team_abbrev: home.code,
      line: teamTotal,
    });
  }
  if (prop !== undefined) {
    const [stat, line] = prop;
    for (const { code, player } of [home, away]) {
      markets.push({
        external_market_type: 'player_prop',
        external_event_id: `${code}-${toSlug(stat)}-${line}`,
        title: `${player}: over ${line} ${stat}`,
        description: `Yes if the official statistics of the game give ${player} more than ${line} ${stat}.`,
        player_name: player,
        player_team_abbrev: code,
        stat_category: stat,
        period: 'Game',
        line,
        min_order_size_atomic: '500000',
      });
    }
  }
  if (novelty !== undefined && round === 0) {
    markets.push({
      external_market_type: 'other',
      external_event_id: 'ODD',
      subcategories: [sport, league, 'novelty'],
      title: `${novelty} (${home.name} v ${away.name})`,
      description: 'Yes if the broadcast shows it.',
    });
  }
  return markets;
}
