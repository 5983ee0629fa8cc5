/**
 * The terms of a market on which people rely who have bought its tokens or want to (RULES.md 9.80): the list of these
 * fields, the check whether people rely on them, and the record of an operator who changed them alone.
 *
 * Invariants:
 *   TERMS-1  People rely on a market that has an open order, tokens in an account, or a past trade. Orders and tokens
 *            are known at once. Trades come from read.db, where the newest may still be missing, but then their tokens
 *            are in accounts.
 */
import { isDeepStrictEqual } from 'node:util';
import type { MarketPatch } from '../../shared/api/markets.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { memberOf } from '../../shared/base/memberOf.ts';
import type { Logger } from '../base/log.ts';
import type { Administrator } from '../base/principal.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Views } from '../shardlink/views.ts';
import type { EventDetails, EventEntry, MarketDetails, MarketEntry } from './catalog.ts';
import type { MarketChange } from './marketCommands.ts';

/** These fields say what has to happen for a token to pay, or who decides whether it has happened. */
const MARKET_TERMS = [
  'title',
  'subtitle',
  'description',
  'outcomes',
  'external_source',
  'external_event_id',
  'external_market_type',
  'series_ticker',
  'player_name',
  'player_team_abbrev',
  'stat_category',
  'period',
  'line',
  'resolution_source',
  'settlement_sources',
  'condition_id',
  'question_id',
] as const satisfies (keyof MarketDetails & keyof MarketPatch)[];
const EVENT_TERMS = [
  'title',
  'description',
  'start_time',
  'sport_league',
  'sport_teams',
  'external_event_id',
  'external_platform',
  'external_event_subtitle',
  'external_event_mutually_exclusive',
  'home_player_full_name',
  'away_player_full_name',
] as const satisfies (keyof EventDetails)[];

/** The terms to which a change gives other values, by their names in bodies. */
export type TermsChange = {
  readonly before: Readonly<Record<string, unknown>>;
  readonly after: Readonly<Record<string, unknown>>;
};

type TermsOf = { readonly market_id: string } | { readonly event_id: string };

type ReliedTermsDeps = {
  readonly views: Pick<Views, 'orders'> & {
    readonly markets: Pick<Views['markets'], 'feeBps' | 'endMs' | 'collateralMicro'>;
  };
  readonly volumes: { volumeMicro(market: number): bigint };
  readonly audit: { append(record: object, isOwed: boolean): Promise<unknown> };
  readonly log: Pick<Logger, 'warn' | 'error'>;
};

export class ReliedTerms {
  readonly #deps: ReliedTermsDeps;

  constructor(deps: ReliedTermsDeps) {
    this.#deps = deps;
  }

  /** TERMS-1. */
  isReliedOn({ index, shard }: Pick<MarketEntry, 'index' | 'shard'>): boolean {
    const { views, volumes } = this.#deps;
    const collateralMicro = views.markets.collateralMicro[index] ?? 0;
    return collateralMicro !== 0 || views.orders[shard].countOfMarket(index) > 0 || volumes.volumeMicro(index) > 0n;
  }

  /** Null if people do not rely on the market, or no term changes. */
  ofMarket(market: MarketEntry, change: MarketChange): TermsChange | null {
    if (!this.isReliedOn(market)) return null;
    const { markets } = this.#deps.views;
    const present: Record<string, unknown> = {
      event_id: market.eventId,
      trading_ends_at: isoTime(markets.endMs(market.index)),
      fee_bps: markets.feeBps(market.index),
    };
    const next: Record<string, unknown> = {};
    if (change.eventId !== undefined) next['event_id'] = change.eventId;
    if (change.endMs !== undefined) next['trading_ends_at'] = isoTime(change.endMs);
    if (change.feeBps !== undefined) next['fee_bps'] = change.feeBps;
    for (const name of MARKET_TERMS) {
      if (!(name in change.details)) continue;
      present[name] = market.details[name] ?? null;
      next[name] = change.details[name] ?? null;
    }
    return differing(present, next);
  }

  /** Null if people rely on no market of the event, or no term changes. */
  ofEvent({ markets, details }: EventEntry, change: Partial<EventDetails>): TermsChange | null {
    const next: Record<string, unknown> = {};
    for (const name of EVENT_TERMS) if (name in change) next[name] = change[name] ?? null;
    const changed = differing(details, next);
    return changed !== null && markets.some((market) => this.isReliedOn(market)) ? changed : null;
  }

  /**
   * Records that one operator has changed them without a second one. The record is owed (AUDITLOG-3), so no answer
   * waits for it.
   */
  noteAlone({ name, operatorId }: Administrator, of: TermsOf, { before, after }: TermsChange): void {
    const { audit, log } = this.#deps;
    const record = { event: 'terms_changed', operator: name, operator_id: operatorId, ...of, before, after };
    log.warn(
      { operator: name, ...of, fields: Object.keys(after) },
      'one operator alone has changed terms that people rely on',
    );
    audit
      .append(record, true)
      .catch((error) => log.error({ err: error }, 'the audit log failed: this record is written before any later one'));
  }
}

type TermsKind = 'market_terms' | 'event_terms';

/** Says whether another operator could approve such a change (access/fourEyes.ts). */
export type SecondOperator = { hasSecond(administrator: Administrator, kind: TermsKind): boolean };

/**
 * Returns the refusal of a change that is part of a larger request and so cannot wait for approval; null if the
 * operator may make it.
 */
export function refuseAlone(
  administrator: Administrator,
  kind: TermsKind,
  { after }: TermsChange,
  fourEyes: SecondOperator,
): Refusal | null {
  if (!fourEyes.hasSecond(administrator, kind)) return null;
  const details = { fields: Object.keys(after), rule: 'asked for by a PATCH of its own' };
  return { row: ERRORS.SECOND_OPERATOR_REQUIRED, details };
}

function differing(present: object, next: Record<string, unknown>): TermsChange | null {
  const before: Record<string, unknown> = {};
  const after: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(next)) {
    const now = memberOf(present, name) ?? null;
    if (isDeepStrictEqual(now, value)) continue;
    before[name] = now;
    after[name] = value;
  }
  return Object.keys(after).length === 0 ? null : { before, after };
}

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
