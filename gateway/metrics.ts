/**
 * What an operator watches, as Prometheus text (RULES.md 10.9). Everything is read when it is asked for: between two
 * scrapes a metric costs nothing but the plain counters that the parts keep for themselves.
 * Owner: the gateway thread.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { NOT_KNOWN, type Progress } from '../shared/progress.ts';
import type { DeadMansSwitch } from './deadMansSwitch.ts';
import type { EngineLink } from './engineLink.ts';
import type { Limiter } from './limits/limiter.ts';
import { NO_STATUS, type RequestCounts } from './requestCounts.ts';
import type { ShardThreads } from './shardThreads.ts';

export type MetricsSources = {
  readonly link: EngineLink;
  readonly progress: Progress;
  readonly shards: ShardThreads;
  readonly deadMansSwitch: DeadMansSwitch;
  readonly limiter: Limiter | null;
  readonly requests: RequestCounts;
  readonly connections: () => number;
  readonly refusedConnections: () => number;
  readonly isReady: () => boolean;
  readonly isPaused: () => boolean;
  readonly isDiskLow: () => boolean;
};

type Labels = Record<string, string | number>;
type Tell = (labels: Labels, value: number) => void;

/** How often the delay of the event loop is sampled: often enough to see a stall, rarely enough to cost nothing. */
const LOOP_SAMPLE_MS = 200;

export class Metrics {
  readonly #registry = new Registry();

  constructor(sources: MetricsSources) {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
    this.#requests(sources);
    this.#shards(sources);
    this.#switches(sources.deadMansSwitch);
    this.#states(sources);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #requests({ requests, limiter, connections, refusedConnections }: MetricsSources): void {
    const byRoute = ['method', 'route', 'status'];
    this.#counter('exchange_requests_total', 'Requests that are over, by route and status.', byRoute, (tell) => {
      requests.forEach((route, status, count) => {
        const labels = { method: route?.method ?? 'none', route: route?.path ?? 'none' };
        tell({ ...labels, status: status === NO_STATUS ? 'aborted' : status }, count);
      });
    });
    const help = 'Decisions of the rate limits.';
    this.#counter('exchange_rate_limit_decisions_total', help, ['decision'], (tell) => {
      for (const [decision, count] of Object.entries(limiter?.decisions ?? {})) tell({ decision }, count);
    });
    this.#gauge('exchange_connections', 'Open connections.', [], (tell) => tell({}, connections()));
    const over = 'Connections closed at once because there were too many.';
    this.#counter('exchange_connections_refused_total', over, [], (tell) => tell({}, refusedConnections()));
  }

  #shards({ link, progress, shards }: MetricsSources): void {
    const perShard = (name: string, help: string, read: (shard: number) => number) => {
      this.#gauge(name, help, ['shard'], (tell) => {
        for (let shard = 0; shard < progress.shards; shard++) tell({ shard }, read(shard));
      });
    };
    perShard('exchange_shard_ready', '1 while the shard takes commands.', (shard) => Number(link.isReady(shard)));
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
    const lagging = 'Commands sent to the shard whose commit has not been heard of.';
    perShard('exchange_journal_lag_commands', lagging, (shard) => link.load(shard).unanswered);
    const behind = 'Committed records that the read model does not show yet.';
    perShard('exchange_projector_lag_records', behind, (shard) => {
      const committed = progress.committed(shard);
      return committed === NOT_KNOWN ? 0 : Math.max(committed - Math.max(progress.projected(shard), 0), 0);
    });
    const verifier = 'Which implementation checks the signatures of orders.';
    this.#gauge('exchange_verifier_info', verifier, ['shard', 'verifier'], (tell) => {
      for (let shard = 0; shard < progress.shards; shard++) {
        const name = shards.verifierOf(shard);
        if (name !== undefined) tell({ shard, verifier: name }, 1);
      }
    });
  }

  #switches(deadMansSwitch: DeadMansSwitch): void {
    const name = 'exchange_heartbeat_switches';
    this.#gauge(`${name}_armed`, 'Accounts whose orders depend on heartbeats.', [], (tell) => {
      tell({}, deadMansSwitch.armed);
    });
    this.#counter(`${name}_triggered_total`, 'Windows that ended without a heartbeat.', [], (tell) => {
      tell({}, deadMansSwitch.triggered);
    });
    this.#counter('exchange_heartbeat_cancelled_orders_total', 'Orders cancelled by them.', [], (tell) => {
      tell({}, deadMansSwitch.cancelledOrders);
    });
  }

  #states({ isReady, isPaused, isDiskLow }: MetricsSources): void {
    this.#gauge('exchange_ready', '1 while requests are taken.', [], (tell) => tell({}, Number(isReady())));
    this.#gauge('exchange_paused', '1 while placing is paused.', [], (tell) => tell({}, Number(isPaused())));
    this.#gauge('exchange_disk_low', '1 while the disk is nearly full.', [], (tell) => tell({}, Number(isDiskLow())));
  }

  #gauge(name: string, help: string, labelNames: string[], collect: (tell: Tell) => void): void {
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

  /** The parts count for themselves; here their totals are shown. */
  #counter(name: string, help: string, labelNames: string[], collect: (tell: Tell) => void): void {
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
