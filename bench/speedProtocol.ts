/** The messages between the speed bench and its client (speedLoad.ts), and the sizes of a round. */
import type { LoadTarget, PeerProcess } from './loadClient.ts';
import type { Noise } from './noise.ts';

/** The timed orders of a fresh server, before others warm it up. */
export const FIRST_ORDERS = 2000;
/** Orders before anything else is measured; V8 compiles all hot code during the first half of them. */
export const WARM_UP_ORDERS = 20_000;
/** The open loop's share of the server's maximum. */
export const PACED_SHARE = 0.3;
export const BOOK_LEVELS = 20;

export type SpeedOptions = LoadTarget & {
  readonly server: PeerProcess;
  readonly barePath: PeerProcess;
  readonly bareServer: PeerProcess;
  /** The processes of the bench, without this one. */
  readonly pids: readonly number[];
};

export type Load = {
  readonly perSecond: number;
  /** Processor time per order or request: of the gateway's thread, of the busiest other thread, of all others. */
  readonly gatewayUs: number;
  readonly shardUs: number;
  readonly restUs: number;
  readonly clientUs: number;
  readonly p50Us: number;
  /** R of this load: the mean of a recovery right before it and one right after it. */
  readonly recoveryUs: number;
  /** The difference between those two, in per cent of R. */
  readonly drift: number;
  readonly noise: Noise;
};

/** At one pace: the duration of a placement, and the lateness of the client's sending. */
export type Pace = {
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly lateP50Us: number;
  readonly noise: Noise;
};

export type SpeedRound = {
  /** The median of all recoveries of the round. */
  readonly recoveryUs: number;
  readonly loads: Readonly<Record<LoadName, Load>>;
  readonly paces: Readonly<Record<PaceName, Pace>>;
};

export type LoadName =
  | 'first orders'
  | 'single orders'
  | 'bare path, single orders'
  | 'batches'
  | 'single orders, binary socket'
  | 'cancels'
  | 'bare POST'
  | 'best prices'
  | 'bare GET as best prices'
  | 'book'
  | 'bare GET as book';

export type PaceName = 'instant server' | 'server' | 'bare path' | 'idle bare path';
