/**
 * The demo's events and markets as the lines that an import reads (RULES.md 9.40), made from `data/demo/`: the games of
 * some leagues, and questions about everything else. All times are relative to `nowMs`; the same `nowMs` gives the same
 * lines.
 */
import { readFileSync } from 'node:fs';
import type { CatalogueLine, EventFields, MarketFields } from '../../shared/api/catalogue.ts';
import { toSlug } from '../markets/marketDetails.ts';
import { type Competitor, type Game, type League, linesOfGame, linesOfRace, type Score } from './demoGames.ts';

/**
 * The format of `data/demo/questions.json`: one event, or one for each name in `each`; `{name}`, `{party}` and `{line}`
 * are filled in.
 */
type Questions = Pick<MarketFields, 'settlement_sources'> & {
  readonly category: string;
  readonly each?: readonly string[];
  readonly slug: string;
  readonly title: string;
  readonly description: string;
  readonly hours: number;
  readonly mutuallyExclusive?: boolean;
  readonly subtitleOfEvent?: string;
  readonly image?: string;
  readonly series?: string;
  readonly markets: readonly Question[];
};

type Question = Partial<MarketFields> & {
  readonly key: string;
  readonly lines?: readonly number[];
  readonly parties?: readonly string[];
};

type DemoCatalogue = {
  readonly lines: readonly CatalogueLine[];
  /** Scores by the slug of their event. */
  readonly scores: ReadonlyMap<string, Score>;
};

const FOLDER = new URL('../../data/demo/', import.meta.url);
const HOUR_MS = 3_600_000;
const WEEK_HOURS = 168;
const ROUNDS = 3;
/** Hours from now to the games of each round; the first game of the first round has started already. */
const KICK_OFF_HOURS = [-1, 6, 30, 54] as const;

export function readDemoFile<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
}

export function demoCatalogue(nowMs: number): DemoCatalogue {
  const leagues = readDemoFile<League[]>('leagues.json');
  const questions = readDemoFile<Questions[]>('questions.json');
  const scores = new Map<string, Score>();
  // Games start on the hour, as in real schedules; the present hour has begun.
  const hourMs = nowMs - (nowMs % HOUR_MS);
  const timeIn = (hours: number): string => new Date(hourMs + hours * HOUR_MS).toISOString();
  const lines = [
    ...leagues.flatMap((league) => linesOfLeague(league, timeIn, scores)),
    ...questions.flatMap((each) => linesOfQuestions(each, timeIn)),
  ];
  return { lines, scores };
}

type TimeIn = (hours: number) => string;

function linesOfLeague(league: League, timeIn: TimeIn, scores: Map<string, Score>): CatalogueLine[] {
  if (league.format === 'field') {
    return league.places!.flatMap((place, at) => linesOfRace(league, place, at, timeIn((at + 1) * WEEK_HOURS)));
  }
  const lines: CatalogueLine[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, [home, away]] of pairsOf(league.teams, round).entries()) {
      const startsInHours = KICK_OFF_HOURS[at] + round * WEEK_HOURS;
      const isLive = startsInHours < 0;
      const game: Game = {
        home,
        away,
        round,
        status: isLive && league.live !== undefined ? 'live' : 'upcoming',
        startsAt: timeIn(isLive && league.live === undefined ? 3 : startsInHours),
        endsAt: timeIn((isLive && league.live === undefined ? 3 : startsInHours) + 4),
        // The last round is listed now and trades from one day before it.
        tradesFrom: round === ROUNDS - 1 ? timeIn(startsInHours - 24) : undefined,
      };
      const ofGame = linesOfGame(league, game);
      if (game.status === 'live') scores.set(ofGame[0].event!.slug, league.live!);
      lines.push(...ofGame);
    }
  }
  return lines;
}

/** Every round pairs the teams differently: the first team stays, the others move on by one seat. */
function pairsOf(teams: readonly Competitor[], round: number): [Competitor, Competitor][] {
  const [first, ...others] = teams;
  // In the first round neighbours in the list meet.
  const seats = others.map((_, seat) => others[(seat + round) % others.length]);
  const row = [first, ...seats];
  return Array.from({ length: row.length / 2 }, (_, at) => [row[2 * at], row[2 * at + 1]]);
}

function linesOfQuestions(questions: Questions, timeIn: TimeIn): CatalogueLine[] {
  const { each = [''], markets } = questions;
  const endsAt = timeIn(questions.hours);
  return each.flatMap((name): CatalogueLine[] => {
    const words = { name, slug: toSlug(name) };
    const slug = filled(questions.slug, words);
    const event: EventFields = {
      slug,
      title: filled(questions.title, words),
      description: filled(questions.description, words),
      category: questions.category,
      start_time: endsAt,
      image_url: questions.image === undefined ? null : filled(questions.image, words),
      external_event_subtitle: questions.subtitleOfEvent ?? null,
      external_event_mutually_exclusive: questions.mutuallyExclusive ?? false,
    };
    const asked = markets.flatMap((question) => marketsOf(question, questions, slug, words, endsAt));
    return [{ event }, ...asked.map((market) => ({ market }))];
  });
}

/** Makes one market, or one for each line or party. */
function marketsOf(
  { key, lines, parties, subcategories, ...fields }: Question,
  { category, settlement_sources, series }: Questions,
  slug: string,
  words: Readonly<Record<string, string>>,
  endsAt: string,
): MarketFields[] {
  const cases = lines?.map((line) => ({ line })) ?? parties?.map((party) => ({ party })) ?? [{}];
  return cases.map((each: { readonly line?: number; readonly party?: string }) => {
    const all = { ...words, line: String(each.line), party: each.party ?? '' };
    const suffix = lines === undefined ? toSlug(filled(key, all)) : `${key}-${each.line}`;
    return {
      ...fields,
      external_event_id: `${slug}-${suffix}`,
      event_slug: slug,
      category,
      title: filled(fields.title!, all),
      description: filled(fields.description!, all),
      ...(subcategories == null ? {} : { subcategories: subcategories.map((tag) => filled(tag, all)) }),
      ...(each.line === undefined ? {} : { line: each.line }),
      ...(series === undefined ? {} : { series_ticker: tickerOf(series, words['slug']) }),
      ...(settlement_sources === undefined ? {} : { settlement_sources }),
      trading_ends_at: endsAt,
    };
  });
}

function tickerOf(series: string, slug: string): string {
  return `${series}-${slug}`.toUpperCase().replace(/-$/, '');
}

function filled(text: string, words: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, word: string) => words[word]);
}
