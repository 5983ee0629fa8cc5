/**
 * The state of the exchange as one object for the operations page (RULES.md 9.60). It has the same counters as the
 * metrics: the page computes rates and percentiles from the difference of two reports, and a report needs no state of
 * its own in the exchange.
 * Owner: the gateway thread.
 */

import type { Operations } from '../../shared/api/operations.ts';
import type { DrillName, Readiness } from '../../shared/api/platform.ts';
import type { DecisionsHealth, MoveHealth } from '../../shared/base/chainFacts.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { DURATION_BOUNDS_SEC } from '../../shared/base/histogram.ts';
import { PPM } from '../../shared/base/payout.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import { FALLBACKS, fallbacks } from '../base/fallbacks.ts';
import type { Administrator } from '../base/principal.ts';
import { platformStagesOf } from '../markets/stages.ts';
import type { ClusterControl } from './clusterControl.ts';
import { behind } from './metricReaders.ts';
import type { HistogramValue, MetricsSources } from './metricSources.ts';

type OperationsSources = {
  readonly metrics: MetricsSources;
  readonly readiness: () => Readiness;
  readonly drills: () => readonly DrillName[];
  /** Null without a cluster. */
  readonly cluster: ClusterControl | null;
  readonly clock: Clock;
};

const NO_DECISIONS = { allowed: 0, quota_denied: 0, dependency_unavailable: 0 } as const;

export class OperationsReport {
  readonly #sources: OperationsSources;
  readonly #startedMs: number;

  constructor(sources: OperationsSources) {
    this.#sources = sources;
    this.#startedMs = sources.clock.nowMs();
  }

  /** Resolves when the counters of other threads are known. */
  refresh(): Promise<void> {
    return this.#sources.metrics.refresh();
  }

  of({ name, roles }: Administrator): Operations {
    const { metrics, readiness, drills, cluster, clock } = this.#sources;
    const { shardMeters, requests, limiter, disk, files, queries, loopDelay } = metrics;
    const { status, reason } = readiness();
    // The page must not wait for a hanging file system: it shows the sizes of the report before.
    void files.refresh();
    return {
      time: clock.nowMs(),
      started: this.#startedMs,
      operator: { name, roles },
      status,
      reason: reason ?? null,
      paused: metrics.isPaused(),
      ...platformStagesOf(metrics.views.markets),
      drills: drills(),
      approvals_pending: metrics.pendingApprovals(),
      control_rows_damaged: metrics.damagedRows,
      control_reserve_bytes: metrics.controlReserveBytes(),
      reserve_wanted_bytes: metrics.wantedReserveBytes,
      bounds_seconds: DURATION_BOUNDS_SEC,
      bounds_commands: [...shardMeters[0].histograms.batchCommands.bounds],
      shards: shardMeters.map((_, shard) => shardOf(metrics, shard)),
      routes: routesOf(metrics),
      refusals: [...requests.counts.refusals].map(([code, count]) => ({ code, count })),
      rate_limit: { ...(limiter?.decisions ?? NO_DECISIONS) },
      ...watchedOf(metrics),
      connections: {
        open: metrics.connections(),
        stream: metrics.streamConnections(),
        refused: metrics.refusedConnections(),
      },
      event_loop: {
        delay: toJson(loopDelay.delaySec),
        active_seconds: loopDelay.use.activeSec,
        idle_seconds: loopDelay.use.idleSec,
      },
      queries: { waiting: queries.waiting, run: toJson(queries.runSec) },
      disk: {
        low: disk.isLow,
        free_bytes: disk.freeBytes,
        reserve_bytes: disk.reserveBytes,
        growth_bytes_per_day: disk.trend.growthPerDay(),
        files: [...files.sizes].map(([file, bytes]) => ({ name: file, bytes })),
      },
      memory_bytes: process.memoryUsage.rss(),
      cluster: cluster?.state ?? null,
      settlement: settlementOf(metrics),
    };
  }
}

/** The values on which alerts depend, except those that the rest of the report has. */
function watchedOf(metrics: MetricsSources) {
  const { sharedCounters, placed, clock, bounds, isAuditWritten, certificateEndMs } = metrics;
  return {
    limits_counted: sharedCounters?.isAnswering ?? null,
    placing: { taken: placed.taken, turned_away: [...placed.turnedAway].map(([code, count]) => ({ code, count })) },
    clock: {
      set_back: clock.isSetBack,
      shifts: clock.shifts,
      refused_accounts: clock.refusedAccounts,
      clients_ahead_seconds: clock.offsets.middleSec,
    },
    bounds: [...bounds()].map(([name, used, most]) => ({ name, used, most })),
    damaged: FALLBACKS.map((kind) => ({ kind, count: fallbacks.counts[kind] })),
    audit_written: isAuditWritten(),
    certificate_end: certificateEndMs(),
  };
}

function shardOf(metrics: MetricsSources, shard: number): Operations['shards'][number] {
  const { link, views, progress, projectorLag, shardMeters, verifierOf, spotCounts } = metrics;
  const { commandBytes, commandCapacity, eventBytes, unanswered } = link.load(shard);
  const { queueSec, commitSec, batchCommands } = shardMeters[shard].histograms;
  const [place, cancel] = link.replyTimes.histograms[shard];
  return {
    shard,
    ready: link.isReady(shard),
    verifier: verifierOf(shard) ?? null,
    signature_differences: spotCounts.differences(shard),
    open_orders: views.orders[shard].count,
    journal_sequence: Math.max(progress.committed(shard), 0),
    unanswered_commands: unanswered,
    command_ring_bytes: commandBytes,
    command_ring_capacity_bytes: commandCapacity,
    event_ring_bytes: eventBytes,
    reserve_bytes: progress.reserveBytes(shard),
    views_lag_records: behind(progress, shard, views.appliedSequence(shard)),
    projector_lag_records: behind(progress, shard, progress.projected(shard)),
    projector_lag_seconds: projectorLag.milliseconds(shard) / 1000,
    queue: toJson(queueSec),
    commit: toJson(commitSec),
    batch: toJson(batchCommands),
    place: toJson(place),
    cancel: toJson(cancel),
  };
}

type SettlementState = NonNullable<Operations['settlement']>;

function settlementOf({ settlement }: MetricsSources): Operations['settlement'] {
  const { latest } = settlement;
  if (latest === null) return null;
  return {
    reason: settlement.unhealthy,
    problem: latest.problem,
    head_age_seconds: latest.headAgeMs === null ? null : Math.max(latest.headAgeMs, 0) / 1000,
    behind_records: latest.behind,
    work: latest.unsettled,
    oldest_trade_seconds: Math.max(latest.oldestTradeMs, 0) / 1000,
    move: moveOf(latest.move),
    refused_payments: latest.refusedPayments,
    foreign_nonces: latest.foreign,
    failed_trades: latest.failed,
    differences: latest.differences,
    at_most_fee: latest.isAtMostFee,
    low_keys: settlement.lowKeys,
    decisions: decisionsOf(latest.decisions),
    nodes: latest.nodes,
  };
}

function decisionsOf({ counts, mayPropose, delays, foreign }: DecisionsHealth): SettlementState['decisions'] {
  const shown = foreign.map(({ marketId, number, proposer, payoutYesPpm, fromSec, isDecided }) => ({
    market_id: bytesToUuid(Buffer.from(marketId.slice(2), 'hex')),
    proposal: number,
    proposer: shownAddress(proposer),
    payouts: [payoutYesPpm, PPM - payoutYesPpm],
    due_at: new Date(fromSec * 1000).toISOString(),
    is_carried_out: isDecided,
  }));
  return {
    ...counts,
    may_propose: mayPropose,
    delay_seconds: delays?.delaySec ?? null,
    least_delay_seconds: delays?.leastDelaySec ?? null,
    foreign: shown,
  };
}

function moveOf(move: MoveHealth | null): NonNullable<Operations['settlement']>['move'] {
  if (move === null) return null;
  const { exchange, state, ageMs, left } = move;
  const from = shownAddress(exchange);
  return { from, state, seconds: Math.max(ageMs, 0) / 1000, left };
}

function routesOf({ requests }: MetricsSources): Operations['routes'] {
  return [...requests.times.byRoute].map(([route, { total }]) => {
    return { method: route?.method ?? 'none', route: route?.path ?? 'none', ...toJson(total) };
  });
}

function toJson({ counts, sum }: HistogramValue): Operations['queries']['run'] {
  return { counts: [...counts], sum };
}
