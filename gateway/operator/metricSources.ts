/**
 * The parts of the exchange from which metrics and the report of the operations page are read.
 * Owner: the gateway thread.
 */
import type { Histogram } from '../../shared/base/histogram.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { ShardMeters } from '../../shared/wire/shardMeters.ts';
import type { SpotCounts } from '../../shared/wire/spotLayout.ts';
import type { Limiter } from '../access/limiter.ts';
import type { LoopDelay } from '../base/loopDelay.ts';
import type { MemberRole } from '../base/memberRole.ts';
import type { MemoryUse } from '../base/memoryUse.ts';
import type { BadSignatures } from '../http/badSignatures.ts';
import type { LongAnswers } from '../http/longAnswers.ts';
import type { RequestCounts } from '../http/requestCounts.ts';
import type { RequestMeters } from '../http/requestMeters.ts';
import type { ShardLoad } from '../shardlink/lane.ts';
import type { MarketViews } from '../shardlink/marketViews.ts';
import type { ReplyTimes } from '../shardlink/replyTimes.ts';
import type { SettlementStanding } from '../shardlink/settlementPort.ts';
import type { DataFiles } from './dataFiles.ts';
import type { DiskGuard } from './diskGuard.ts';
import type { LabelsOf, METRICS, MetricName } from './metricTable.ts';
import type { ProcessMeters } from './processMeters.ts';
import type { ProjectorLag } from './projectorLag.ts';

export type Member = Pick<MemberRole, 'isLeading' | 'epoch' | 'staleMs' | 'status'>;

export type MetricsSources = {
  readonly process: ProcessMeters;
  readonly link: {
    readonly replyTimes: ReplyTimes;
    isReady(shard: number): boolean;
    load(shard: number): ShardLoad;
  };
  readonly views: {
    readonly orders: readonly { readonly count: number }[];
    readonly markets: Pick<MarketViews, 'inStage' | 'shardStages'>;
    appliedSequence(shard: number): number;
  };
  readonly progress: Progress;
  readonly projectorLag: Pick<ProjectorLag, 'milliseconds'>;
  /** By shard. */
  readonly shardMeters: readonly ShardMeters[];
  /** The implementation that checks signatures in a shard; undefined until the shard has started. */
  readonly verifierOf: (shard: number) => string | undefined;
  readonly spotCounts: Pick<SpotCounts, 'checked' | 'missed' | 'differences'>;
  readonly deadMansSwitch: { readonly armed: number; readonly triggered: number; readonly cancelledOrders: number };
  readonly clock: {
    nowMs(): number;
    /** False while the clock of this machine, or that of every client, is wrong. */
    readonly isAccepting: boolean;
    readonly isSetBack: boolean;
    readonly refusedAccounts: number;
    readonly shifts: number;
    readonly offsets: { readonly accounts: number; readonly middleSec: number | null };
  };
  /** Null where rate limits are counted in this process alone. */
  readonly sharedCounters: { readonly isAnswering: boolean } | null;
  readonly limiter: Pick<Limiter, 'decisions'> | null;
  readonly badSignatures: Pick<BadSignatures, 'refused'> | null;
  readonly requests: RequestMeters;
  readonly placed: RequestCounts['placed'];
  readonly longAnswers: Pick<LongAnswers, 'underway' | 'pieces'>;
  readonly loopDelay: Pick<LoopDelay, 'delaySec' | 'use'>;
  readonly memory: Pick<MemoryUse, 'process' | 'threads' | 'refresh'>;
  readonly queries: { readonly runSec: Histogram; readonly waiting: number };
  readonly disk: Pick<DiskGuard, 'isLow' | 'freeBytes' | 'reserveBytes' | 'trend'>;
  readonly files: Pick<DataFiles, 'sizes' | 'backups' | 'refresh'>;
  readonly connections: () => number;
  /** Connections of the gateway thread itself. */
  readonly ownConnections: () => number;
  /** Null: no front threads. */
  readonly fronts: {
    readonly failures: number;
    counts(): {
      readonly connections: number;
      readonly calls: number;
      readonly read: number;
      readonly answered: number;
      readonly unreadBytes: number;
    }[];
  } | null;
  /** Resolves when the counters of all threads are current. */
  readonly refresh: () => Promise<void>;
  readonly refusedConnections: () => number;
  readonly streamConnections: () => number;
  /** True if a probe of `/ready` is answered 200. */
  readonly isReady: () => boolean;
  /** Seconds for which the start has gone on; 0 once requests are answered. */
  readonly startingSeconds: () => number;
  readonly isPaused: () => boolean;
  readonly pendingApprovals: () => number;
  /** Rows of control.db whose checksum is wrong. */
  readonly damagedRows: number;
  /** The disk space that each journal and control.db have to reserve for a full disk. */
  readonly wantedReserveBytes: number;
  /** Bytes that control.db can write when the disk is full. */
  readonly controlReserveBytes: () => number;
  readonly fiat: {
    readonly sessions: { readonly alarmedCount: number };
    readonly statementRows: { readonly openCount: number; readonly claimMicro: number };
  };
  /** True if the store of answers with idempotency keys is full. */
  readonly areAnswersFull: () => boolean;
  readonly keptAnswers: () => { readonly rows: number; readonly bytes: number };
  /** Null without a cluster. */
  readonly member: Member | null;
  readonly settlement: SettlementStanding;
  /** Positions of the read model that had to be corrected. */
  readonly positionDifferences: () => number;
  /** Lines of the log that were dropped because nothing read them in time. */
  readonly droppedLogLines: () => number;
  /** Null if the exchange has no certificate of its own. */
  readonly certificateEndMs: () => number | null;
  /** Tables by name: the used part, and the number at which the exchange begins to refuse. */
  readonly bounds: () => Iterable<readonly [bound: string, used: number, most: number]>;
  /** The most memory that the process may use. */
  readonly memoryLimitBytes: () => number;
  readonly isAuditWritten: () => boolean;
  readonly isAlertTested: () => boolean;
};

/** The content of a histogram, whichever part keeps it. */
export type HistogramValue = Pick<Histogram, 'bounds' | 'counts' | 'sum'>;

export type ValueOf<N extends MetricName> = (typeof METRICS)[N]['type'] extends 'histogram' ? HistogramValue : number;
/** Reports the samples of a metric. */
export type Reader<N extends MetricName> = (
  from: MetricsSources,
  observe: (labels: LabelsOf<N>, value: ValueOf<N>) => void,
) => void;
/** The metrics without labels. */
export type Single = {
  readonly [N in MetricName]: (typeof METRICS)[N]['labels'] extends readonly [] ? N : never;
}[MetricName];
