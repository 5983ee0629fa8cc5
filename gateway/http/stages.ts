/**
 * The stages that every call passes once its principal is known, on every transport: the routes, with their errors,
 * limits and idempotency, are the same over HTTP and on a socket.
 * Owner: the gateway thread.
 *
 * Invariant:
 *   STAGES-1  A call that has waited, for a shared counter or a signature, goes on only if its client is still there.
 */
import { saysDiskFull } from '../../shared/base/diskFull.ts';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import { nowUs } from '../../shared/base/stopwatch.ts';
import type { Rights } from '../access/credential.ts';
import { isAdministrator } from '../access/credentialOf.ts';
import { type Administrator, isAccount } from '../base/principal.ts';
import { changesSomething, type Role } from '../base/role.ts';
import { MAX_BODY_BYTES } from './body.ts';
import type { Call, Passage, ReadAhead } from './call.ts';
import { type IdentityOptions, IdentityStage, type RefusedLoginCount } from './identity.ts';
import type { RequestMeters } from './requestMeters.ts';
import { refuse } from './respond.ts';
import type { Route } from './route.ts';
import { type FullSpec, rightsOf } from './spec.ts';
import { compileRoute, type Validation, validate } from './validate.ts';

export type StagesOptions = IdentityOptions & {
  readonly idempotency: IdempotencyStage;
  /** Absent: the actions of administrators are not recorded. */
  readonly audit?: AuditTrail;
  /** Absent without a cluster. */
  readonly role?: Role;
  readonly isPaused: () => boolean;
  /**
   * The error of every placing request, because of a drill or because settlement is unhealthy; null: placing is
   * allowed.
   */
  readonly placingRefusal: () => ErrorRow | null;
  /** True if the disk has space only for requests that have to go on, such as cancels. */
  readonly isDiskLow: () => boolean;
  /** The end of the account's trading timeout; 0 if it may take on new risk. */
  readonly timeoutEndMs: (account: number, nowMs: number) => number;
};

/** The stage that records the changes of administrators. */
export type AuditTrail = RefusedLoginCount & {
  /** Resolves once the attempt is durable; with false if the call has been refused instead. */
  admit(call: Call, administrator: Administrator): Promise<boolean>;
};

/** The stage that answers a repeated key with the stored answer. */
export type IdempotencyStage = {
  /** True if there is no space to store answers. */
  readonly isDiskFull: boolean;
  /** Holds the key of the call, or answers the call with the stored answer, or returns why it is refused. */
  tryHold(call: Call, route: number): 'held' | 'replayed' | ErrorRow;
  /** The call is over; the key may be held again. */
  release(call: Call): void;
};

/** A route with everything that is computed once. */
export type RouteRow = Validation & {
  readonly route: Route;
  readonly rights: Rights;
  readonly maxBodyBytes: number;
  readonly changes: boolean;
};

/** RULES.md 10.8. */
const DISK_LOW = { row: ERRORS.ENGINE_BUSY, details: { reason: 'disk_low' } };

export function toRow(route: Route, isRehearsed: boolean): RouteRow {
  return {
    ...compileRoute(route, isRehearsed),
    route,
    rights: rightsOf(route),
    maxBodyBytes: route.maxBodyBytes ?? MAX_BODY_BYTES,
    changes: changesSomething(route),
  };
}

export class Stages {
  readonly identity: IdentityStage;
  readonly #options: StagesOptions;
  readonly #meters: RequestMeters;

  constructor(options: StagesOptions, meters: RequestMeters) {
    this.#options = options;
    this.#meters = meters;
    this.identity = new IdentityStage(options);
  }

  /** Goes on if the identity stage has let the call pass; otherwise the call has been refused already. */
  proceedIf(passage: Passage, call: Call, row: RouteRow): void {
    if (passage === true) this.proceed(call, row);
    else if (passage !== false) this.#proceedLater(call, row, passage);
  }

  /** On a full disk the handler may have done a part of its work: the client asks what happened, or tries again. */
  crash(call: Call, error: unknown): void {
    this.#meters.failed(error, call);
    refuse(call, { row: saysDiskFull(error) ? ERRORS.OUTCOME_UNKNOWN : ERRORS.INTERNAL_ERROR });
  }

  /** CALL-4, STAGES-1. */
  #proceedLater(call: Call, row: RouteRow, passage: Promise<boolean>): void {
    if (call.bodyBytes.length > 0) call.bodyBytes = Buffer.from(call.bodyBytes);
    call.ahead = keptOf(call.ahead);
    const proceed = (isPassed: boolean): void => {
      if (!isPassed || call.answered) return;
      if (call.transport.isGone) call.host.abort(call);
      else this.proceed(call, row);
    };
    passage.then(proceed).catch((error) => this.crash(call, error));
  }

  /** The stages from the role on, and from the idempotency key on: a standby stores no answers (RULES.md 18.5). */
  proceed(call: Call, row: RouteRow): void {
    call.moments.identifiedUs = nowUs();
    const { route } = row;
    const elsewhere = row.changes ? (this.#options.role?.changeRefusal() ?? null) : null;
    if (elsewhere !== null) return refuse(call, elsewhere);
    const hasKey = call.idempotencyKey !== '' && route.idempotency !== undefined;
    const held = hasKey ? this.#options.idempotency.tryHold(call, route.idempotency) : 'held';
    if (held === 'replayed' || !this.#admits(call, route)) return;
    if (held !== 'held')
      return refuse(
        call,
        held === ERRORS.ENGINE_BUSY && this.#options.idempotency.isDiskFull ? DISK_LOW : { row: held },
      );
    const invalid = validate(call, route, row);
    if (invalid === null) this.#dispatch(call, route);
    else this.identity.refuseInvalid(call, row, invalid);
  }

  /** True if the exchange accepts new risk and new data now; false if the call was refused. */
  #admits(call: Call, route: FullSpec): boolean {
    const { risk, storing } = route;
    const isTrading = risk !== undefined;
    const { isPaused, placingRefusal, isDiskLow } = this.#options;
    const refusal = isTrading ? placingRefusal() : null;
    const timeoutEndMs = this.#timeoutEndMs(call, route);
    if (isTrading && isPaused()) refuse(call, { row: ERRORS.PLATFORM_PAUSED });
    else if (refusal !== null) refuse(call, { row: refusal });
    else if (timeoutEndMs > 0) {
      const retryAfterSec = Math.ceil((timeoutEndMs - call.startedMs) / 1000);
      refuse(call, { row: ERRORS.TRADING_TIMEOUT_ACTIVE, retryAfterSec });
    } else if ((isTrading || storing) && isDiskLow()) refuse(call, DISK_LOW);
    else return true;
    return false;
  }

  #timeoutEndMs({ principal, startedMs }: Call, { risk }: FullSpec): number {
    if (risk !== 'taken' || !isAccount(principal)) return 0;
    return this.#options.timeoutEndMs(principal.accountIndex, startedMs);
  }

  /**
   * A handler answers at once, from a promise, or from a callback; only a promise shows that the handler returned
   * without an answer.
   */
  #dispatch(call: Call, route: Route): void {
    call.dispatched = true;
    const { audit } = this.#options;
    const { principal } = call;
    if (audit === undefined || !isAdministrator(principal) || route.method === 'GET') {
      this.#handle(call, route);
      return;
    }
    this.#admitAudited(call, route, audit.admit(call, principal));
  }

  // The functions of these two are made apart from the way of an order, where each would cost an allocation.

  #admitAudited(call: Call, route: Route, admitted: Promise<boolean>): void {
    const handle = (isAdmitted: boolean): void => {
      if (isAdmitted) this.#handle(call, route);
    };
    admitted.then(handle).catch((error: unknown) => this.crash(call, error));
  }

  #handle(call: Call, route: Route): void {
    call.moments.handledUs = nowUs();
    const finished = route.handler(call);
    if (finished !== undefined) this.#finishLater(call, finished);
  }

  #finishLater(call: Call, finished: Promise<void>): void {
    finished.then(
      () => {
        if (!call.answered) this.crash(call, new Error('pipeline: the handler finished without an answer'));
      },
      (error: unknown) => this.crash(call, error),
    );
  }
}

/**
 * CALL-4: what a call that waits keeps. What a front has read is dropped, and read again from the copy of the body; a
 * record has memory of its own.
 */
function keptOf(ahead: ReadAhead | null): ReadAhead | null {
  if (ahead === null || ahead.kind === 'front') return null;
  if (ahead.kind === 'record' || ahead.scanned === null) return ahead;
  return { ...ahead, scanned: ahead.scanned.kept() };
}
