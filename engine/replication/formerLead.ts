/**
 * The time until which another member may have led, by this machine's clock. Requests that it accepted until then may
 * have left no trace in the log, and must not be accepted again (gateway/base/memberRole.ts).
 */
import { LEASE_MS } from '../../shared/wire/replication.ts';
import type { Lease } from './log.ts';

/** A leader renews its lease so often. */
export const RENEW_MS = 500;

export class FormerLead {
  /** 0 if none was seen. A leader that did not renew its lease in time is gone, or executes nothing. */
  untilMs = 0;

  /** @param timeMs the time at which the lease was read @returns the lease */
  noted(lease: Lease, timeMs: number): Lease {
    const { expiresInMs } = lease;
    if (expiresInMs > 0) this.untilMs = timeMs + Math.min(0, expiresInMs - LEASE_MS + RENEW_MS);
    return lease;
  }
}
