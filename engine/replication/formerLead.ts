/**
 * Until when another member may have led, by the clock of this machine: what it has accepted until then may have left
 * no trace in the log, and is not to be accepted once more (gateway/base/memberRole.ts).
 */
import { LEASE_MS } from '../../shared/wire/replication.ts';
import type { Lease } from './log.ts';

/** A leader renews its lease so often. */
export const RENEW_MS = 500;

export class FormerLead {
  /** 0: none was seen. A leader that has not renewed its lease when it was due is gone, or carries out nothing. */
  untilMs = 0;

  /** @param timeMs of the look at the lease. @returns the lease */
  noted(lease: Lease, timeMs: number): Lease {
    const { expiresInMs } = lease;
    if (expiresInMs > 0) this.untilMs = timeMs + Math.min(0, expiresInMs - LEASE_MS + RENEW_MS);
    return lease;
  }
}
