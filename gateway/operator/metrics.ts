/**
 * The metrics, as Prometheus text (RULES.md 10.9). All values are read during a scrape: between two scrapes a metric
 * costs nothing but the plain counters that the parts keep.
 * Owner: the gateway thread.
 */
import { Counter, collectDefaultMetrics, Gauge, type Histogram, Registry } from 'prom-client';
import { NOT_KNOWN, type Progress } from '../../shared/wire/progress.ts';
import type { LongAnswers } from '../http/longAnswers.ts';
import { NO_STATUS, type RequestCounts } from '../http/requestCounts.ts';
import type { RouteSpec } from '../http/spec.ts';
import { TURN_BOUNDS_MS, type TurnTimes } from '../http/turnTimes.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { ShardLink } from '../shardlink/link.ts';
import type { BadSignatures } from '../trading/badSignatures.ts';
import type { DeadMansSwitch } from '../trading/deadMansSwitch.ts';
import type { ProjectorLag } from './projectorLag.ts';

type MetricsSources = {
  readonly link: ShardLink;
  readonly progress: Progress;
  readonly projectorLag: ProjectorLag;
  /** The implementation that checks signatures in a shard; undefined until the shard has started. */
  readonly verifierOf: (shard: number) => string | undefined;
  readonly deadMansSwitch: DeadMansSwitch;
  readonly limiter: Limiter | null;
  readonly badSignatures: BadSignatures | null;
  readonly requests: RequestCounts;
  readonly turns: TurnTimes;
  readonly longAnswers: LongAnswers;
  readonly connections: () => number;
  readonly refusedConnections: () => number;
  readonly isReady: () => boolean;
  readonly isPaused: () => boolean;
  readonly isDiskLow: () => boolean;
  /** Bytes that control.db can write when the disk is full. */
  readonly controlReserveBytes: () => number;
  /** The answers of idempotency keys that are stored. */
  readonly keptAnswers: () => { readonly rows: number; readonly bytes: number };
  /** Positions of the read model that had to be corrected. */
  readonly positionDifferences: () => number;
};

type Labels = Record<string, string | number>;
type Observe = (labels: Labels, value: number) => void;

/** Interval of the samples of the event loop's delay: short enough to see a stall, long enough to cost nothing. */
const LOOP_SAMPLE_MS = 200;

export class Metrics {
  readonly #registry = new Registry();

  constructor(sources: MetricsSources) {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
    this.#requests(sources);
    this.#turns(sources);
    this.#shards(sources);
    this.#switches(sources.deadMansSwitch);
    this.#states(sources);
    const { keptAnswers, positionDifferences } = sources;
    const corrected = 'Positions of which the read model had another quantity than the engine. Above 0 is a bug.';
    this.#counter('exchange_position_differences_total', corrected, [], (observe) => {
      observe({}, positionDifferences());
    });
    const rows = 'Answers kept for idempotency keys, of all accounts.';
    this.#gauge('exchange_kept_answers', rows, [], (observe) => observe({}, keptAnswers().rows));
    this.#gauge('exchange_kept_answers_bytes', 'Their bytes.', [], (observe) => observe({}, keptAnswers().bytes));
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #requests({ requests, limiter, badSignatures, connections, refusedConnections }: MetricsSources): void {
    const byRoute = ['method', 'route', 'status'];
    this.#counter('exchange_requests_total', 'Requests that are over, by route and status.', byRoute, (observe) => {
      requests.forEach((route, status, count) => {
        observe({ ...labelsOf(route), status: status === NO_STATUS ? 'aborted' : status }, count);
      });
    });
    const help = 'Decisions of the rate limits.';
    this.#counter('exchange_rate_limit_decisions_total', help, ['decision'], (observe) => {
      for (const [decision, count] of Object.entries(limiter?.decisions ?? {})) observe({ decision }, count);
    });
    const bad = 'Orders refused because of the signatures of earlier ones.';
    this.#counter('exchange_bad_signature_refusals_total', bad, [], (observe) => {
      observe({}, badSignatures?.refused ?? 0);
    });
    this.#gauge('exchange_connections', 'Open connections.', [], (observe) => observe({}, connections()));
    const over = 'Connections closed at once because there were too many.';
    this.#counter('exchange_connections_refused_total', over, [], (observe) => observe({}, refusedConnections()));
  }

  /** prom-client counts observations one by one; here only their counts by bucket exist. */
  #turns({ turns, longAnswers }: MetricsSources): void {
    const name = 'exchange_request_turn_seconds';
    const help = 'How long a request held the gateway thread at a time.';
    const get = async () => ({ name, help, type: 'histogram', values: histogramOf(name, turns) });
    this.#registry.registerMetric({ name, get } as unknown as Histogram);
    const worst = 'The longest turn of a route in the last minute or two.';
    this.#gauge('exchange_request_turn_worst_seconds', worst, ['method', 'route'], (observe) => {
      turns.forEachWorst((route, tookMs) => observe(labelsOf(route), tookMs / 1000));
    });
    this.#gauge('exchange_long_answers', 'Answers that are being written in pieces.', [], (observe) => {
      observe({}, longAnswers.underway);
    });
    this.#counter('exchange_long_answer_pieces_total', 'Pieces of them that were written.', [], (observe) => {
      observe({}, longAnswers.pieces);
    });
  }

  #shards({ link, progress, projectorLag, verifierOf }: MetricsSources): void {
    const perShard = (name: string, help: string, read: (shard: number) => number) => {
      this.#gauge(name, help, ['shard'], (observe) => {
        for (let shard = 0; shard < progress.shards; shard++) observe({ shard }, read(shard));
      });
    };
    perShard('exchange_shard_ready', '1 while the shard accepts commands.', (shard) => Number(link.isReady(shard)));
    perShard(
      'exchange_command_ring_bytes',
      'Bytes the shard has not read yet.',
      (shard) => link.load(shard).commandBytes,
    );
    perShard('exchange_command_ring_capacity_bytes', 'Bytes that fit.', (shard) => link.load(shard).commandCapacity);
    perShard(
      'exchange_event_ring_bytes',
      'Bytes the gateway has not read yet.',
      (shard) => link.load(shard).eventBytes,
    );
    perShard('exchange_journal_sequence', 'Last committed record.', (shard) => Math.max(progress.committed(shard), 0));
    const lagging = 'Commands sent to the shard whose commit is not known yet.';
    perShard('exchange_journal_lag_commands', lagging, (shard) => link.load(shard).unanswered);
    const behind = 'Committed records that the read model does not show yet.';
    perShard('exchange_projector_lag_records', behind, (shard) => {
      const committed = progress.committed(shard);
      return committed === NOT_KNOWN ? 0 : Math.max(committed - Math.max(progress.projected(shard), 0), 0);
    });
    const late = 'How long the oldest of them has been committed.';
    perShard('exchange_projector_lag_seconds', late, (shard) => projectorLag.milliseconds(shard) / 1000);
    const from = 'Since when the history in the read model is there, 0: from the first record on.';
    this.#gauge('exchange_history_from_seconds', from, [], (observe) => observe({}, progress.historyFromMs() / 1000));
    const room = 'Bytes that the journal can write when the disk is full.';
    perShard('exchange_journal_reserve_bytes', room, (shard) => progress.reserveBytes(shard));
    const verifier = 'Which implementation checks the signatures of orders.';
    this.#gauge('exchange_verifier_info', verifier, ['shard', 'verifier'], (observe) => {
      for (let shard = 0; shard < progress.shards; shard++) {
        const name = verifierOf(shard);
        if (name !== undefined) observe({ shard, verifier: name }, 1);
      }
    });
  }

  #switches(deadMansSwitch: DeadMansSwitch): void {
    const name = 'exchange_heartbeat_switches';
    this.#gauge(`${name}_armed`, 'Accounts whose orders depend on heartbeats.', [], (observe) => {
      observe({}, deadMansSwitch.armed);
    });
    this.#counter(`${name}_triggered_total`, 'Windows that ended without a heartbeat.', [], (observe) => {
      observe({}, deadMansSwitch.triggered);
    });
    this.#counter('exchange_heartbeat_cancelled_orders_total', 'Orders cancelled by them.', [], (observe) => {
      observe({}, deadMansSwitch.cancelledOrders);
    });
  }

  #states({ isReady, isPaused, isDiskLow, controlReserveBytes }: MetricsSources): void {
    this.#gauge('exchange_ready', '1 while requests are accepted.', [], (observe) => observe({}, Number(isReady())));
    this.#gauge('exchange_paused', '1 while placing is paused.', [], (observe) => observe({}, Number(isPaused())));
    const room = 'Bytes that control.db can write when the disk is full.';
    this.#gauge('exchange_control_reserve_bytes', room, [], (observe) => observe({}, controlReserveBytes()));
    this.#gauge('exchange_disk_low', '1 while the disk is nearly full.', [], (observe) =>
      observe({}, Number(isDiskLow())),
    );
  }

  #gauge(name: string, help: string, labelNames: string[], collect: (observe: Observe) => void): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        collect((labels, value) => this.set(labels, value));
      },
    });
  }

  /** The parts keep the counts; a scrape shows their totals. */
  #counter(name: string, help: string, labelNames: string[], collect: (observe: Observe) => void): void {
    new Counter({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        collect((labels, value) => this.inc(labels, value));
      },
    });
  }
}

function labelsOf(route: RouteSpec | null): Labels {
  return { method: route?.method ?? 'none', route: route?.path ?? 'none' };
}

/** The samples of a histogram: each bucket counts what is at most its bound. */
function histogramOf(name: string, { counts, totalMs }: TurnTimes): object[] {
  let total = 0;
  const buckets = [...counts].map((count, bucket) => {
    total += count;
    const boundMs = TURN_BOUNDS_MS[bucket];
    const le = boundMs === undefined ? '+Inf' : String(boundMs / 1000);
    return { metricName: `${name}_bucket`, labels: { le }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: {}, value: totalMs / 1000 },
    { metricName: `${name}_count`, labels: {}, value: total },
  ];
}
