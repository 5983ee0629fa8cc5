/** The refusal of a request: a row of the error table, and the details of this answer. */
import type { ErrorRow } from '../../shared/base/errors.ts';

export type Refusal = {
  readonly row: ErrorRow;
  /** Replaces the message of the row; it must not contain information that the code does not imply. */
  readonly message?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /**
   * True if the shard has refused it: with an idempotency key the answer is kept and repeated in full, however long it
   * is.
   */
  readonly isOfShard?: boolean;
  readonly retryAfterSec?: number;
  /** Replaces the header lines about the limit that the request had passed (access/limiter.ts). */
  readonly rateLimitHeaders?: string;
  /** The methods that a 405 offers. */
  readonly allow?: string;
  /** The length of a file that has no such part. */
  readonly contentRange?: string;
};

/** A request whose format is not that of its route. */
export type Invalid = {
  readonly message: string;
  readonly details: {
    readonly field: string;
    readonly rule: string;
    readonly value?: unknown;
    readonly expected?: string;
  };
};

const SERVICE_UNAVAILABLE = 503;
const DEFAULT_RETRY_AFTER_SEC = 1;

/** A 503 always says when to try again. @returns the seconds, 0 for none. */
export function retryAfterOf(status: number, { retryAfterSec }: Pick<Refusal, 'retryAfterSec'>): number {
  return retryAfterSec ?? (status === SERVICE_UNAVAILABLE ? DEFAULT_RETRY_AFTER_SEC : 0);
}
