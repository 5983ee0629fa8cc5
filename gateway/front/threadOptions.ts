/** The options of a front thread, and the messages with it beside the records of its rings. */
import { record, u32 } from '../../shared/wire/layout.ts';
import type { AppDescriptor } from '../http/door.ts';
import type { Config } from '../process/config.ts';

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
};

/** To the thread. */
export type FrontRequest = 'stop' | 'reloadTls';

/** From the thread: it can serve, with this app from now on; it cannot use a certificate; it has failed. */
export type FrontMessage =
  | { readonly descriptor: AppDescriptor }
  | { readonly problem: string }
  | { readonly failure: Error };
