/** The options of a front thread, and the messages with it beside the records of its rings. */
import type { BlockList } from 'node:net';
import { record, u32 } from '../../shared/wire/layout.ts';
import type { SharedCounts } from '../access/sharedCounters.ts';
import type { SharedNetworksBuffers } from '../access/sharedNetworks.ts';
import type { Config, LogLevel } from '../base/config.ts';
import type { ShownRoleBuffers } from '../base/shownRole.ts';
import type { AppDescriptor } from '../http/door.ts';
import type { MetersImage } from '../http/metersImage.ts';
import type { TradedMarket } from '../markets/catalogEntries.ts';
import type { ShardNews } from '../shardlink/shardNews.ts';

/** At the exit of the process, when messages do not arrive any more. */
export const END_WORDS = record(
  'END_WORDS',
  { asked: u32('1: the thread closes its sockets'), closed: u32('1: it has') },
  'How a front thread ends with the process.',
);

export type FrontOptions = {
  /** From 0. */
  readonly index: number;
  readonly tls: Config['tls'];
  readonly fromFront: SharedArrayBuffer;
  readonly toFront: SharedArrayBuffer;
  readonly ending: SharedArrayBuffer;
  readonly socketPath: string;
  /** The limits of a socket that uWebSockets.js keeps. */
  readonly socketLimits: {
    readonly maxPayloadLength: number | undefined;
    readonly maxBackpressure: number | undefined;
    readonly closeOnBackpressureLimit: boolean | undefined;
    readonly idleTimeout: number | undefined;
    readonly sendPingsAutomatically: boolean | undefined;
  };
  readonly longestMessageBytes: number;
  readonly isHttps: boolean;
  /** Of pages that may read answers (RULES.md 6.9). */
  readonly origins: readonly string[];
  /** Null without a cluster. */
  readonly role: ShownRoleBuffers | null;
  /** Null: the thread passes on every call. */
  readonly reads: ReadsOptions | null;
};

/** The limits of addresses that all gateway threads count together. */
export type SharedLimits = {
  readonly unlisted: SharedCounts;
  /** The networks of IPv6 that are counted as themselves. */
  readonly networks: SharedNetworksBuffers;
};

/** A thread answers reads by itself with these. */
export type ReadsOptions = {
  readonly shards: number;
  readonly progress: SharedArrayBuffer;
  /** One word, 1 while it may: the gateway thread refuses calls otherwise, or closes connections after them. */
  readonly gate: SharedArrayBuffer;
  /** Null: nothing is counted. */
  readonly limits: SharedLimits | null;
  readonly trustProxy: BlockList | null;
  readonly slowRequestMs: number;
  readonly logLevel: LogLevel;
};

/** To the thread; `markets` are those that their shards have opened since the last message. */
export type FrontRequest = 'stop' | 'reloadTls' | 'measure' | ShardNews | { readonly markets: readonly TradedMarket[] };

/** The counts of a thread's own answers since its start. */
export type FrontImage = {
  readonly answered: number;
  readonly meters: MetersImage;
  readonly decisions: Readonly<Record<string, number>>;
};

/**
 * From the thread: it can serve, with this app from now on; it cannot use a certificate; it has failed; a line of the
 * log, for the gateway thread has the output.
 */
export type FrontMessage =
  | { readonly descriptor: AppDescriptor }
  | { readonly problem: string }
  | { readonly failure: Error }
  | { readonly measured: FrontImage }
  | { readonly line: string };
