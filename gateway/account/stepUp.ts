/** Step-up: requires a proof of identity that is at most ten minutes old (RULES.md 15.45). */
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { credentialOf } from '../access/credentialOf.ts';
import { refuse } from '../http/respond.ts';
import type { AccountCall } from '../http/route.ts';

const STEP_UP_MS = 600_000;

/** @returns false if the call was refused */
export function isFresh(call: AccountCall, clock: Clock): boolean {
  const { principal } = call;
  const nowMs = clock.nowMs();
  if (nowMs - credentialOf(principal).provedMs(principal, nowMs) <= STEP_UP_MS) return true;
  refuse(call, { row: ERRORS.STEP_UP_REQUIRED });
  return false;
}
