/**
 * The stages that each call passes in order. Their order is the precedence of the error table.
 *
 *   transport      size, path, method and framing; readiness; a browser's preflight is answered here
 *   address limit  calls without a key, before their body is read
 *   key            known, in force, signed lately, with its passphrase: before the body of its call is read
 *   identity       the signature of the key, or the administrator's token (never limited) before the body is read
 *   scope, limit   the rights of the key, then its quota
 *   role           a standby refuses what changes something
 *   stored answer  a repeated idempotency key gets the answer of the first request
 *   admission      pause, drills, trading timeout, disk
 *   idempotency    a key in flight, malformed or used for another payload is refused
 *   validation     deadline, query and body against their schemas
 *   handler
 *
 * Both halves of idempotency are one call of its stage; the refusal is held back until the checks of the row before
 * have passed. A key is counted only once its signature is valid, so a forged request never spends a quota, and a
 * failed attempt is counted by address.
 *
 * A front thread may have read a call (ReadByFront): then the stages use its results instead of computing them from
 * headers and body, in the same order. Owner: the gateway thread; a front thread has its own pipeline for the requests
 * that it answers itself (front/reads.ts).
 *
 * Invariants:
 *   PIPELINE-1  Every call is over exactly once: answered by a stage or its handler, or aborted before it had one.
 *   PIPELINE-2  Nothing thrown by a stage or a handler leaves this file; the call is answered 500.
 */
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { nowUs } from '../../shared/base/stopwatch.ts';
import { offersCredential } from '../access/credentialOf.ts';
import { unreadHops } from '../base/clientAddress.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import type { AccountPrincipal } from '../base/principal.ts';
import type { Role } from '../base/role.ts';
import { collectBody, MAX_BODY_BYTES, refuseTooLarge } from './body.ts';
import { type Call, type HeldChanges, NOT_RECEIVING } from './call.ts';
import type { Cors } from './cors.ts';
import { CHUNKED, type HeaderLines, MALFORMED, RequestHeaders } from './headers.ts';
import { type IdentityStage, isFromHere } from './identity.ts';
import { LongAnswers } from './longAnswers.ts';
import { requestIds } from './requestIds.ts';
import { RequestMeters } from './requestMeters.ts';
import { ok, refuse } from './respond.ts';
import type { Route } from './route.ts';
import { type Endpoint, type Match, Router } from './router.ts';
import { isBehindAdminDoor, isForOperators } from './spec.ts';
import { type RouteRow, Stages, type StagesOptions, toRow } from './stages.ts';

export type PipelineOptions = StagesOptions & {
  readonly config: StagesOptions['config'] & Partial<Pick<Config, 'slowRequestMs' | 'rehearse' | 'isHttps'>>;
  readonly routes: readonly Route[];
  /** The port that alone serves administrators and operators; absent if they share the public one. */
  readonly adminDoor?: Pick<Config, 'host' | 'port' | 'tls'>;
  /** Absent: no web page may read an answer. */
  readonly cors?: Cors;
  readonly clock: Clock;
  readonly log: Logger;
  readonly isReady: () => boolean;
  readonly areOrdersUnderway?: () => boolean;
  /** Absent: no cluster. */
  readonly changes?: HeldChanges | null;
};

/**
 * A load balancer that asks at least this often is seen; one that asks less often does not notice a stop before the
 * port is closed.
 */
const WATCHED_MS = 1500;

export class Pipeline {
  readonly meters: RequestMeters;
  readonly nextRequestId = requestIds();
  readonly role: Role | undefined;
  readonly isHttps: boolean;
  readonly longAnswers: LongAnswers;
  readonly changes: HeldChanges | null;
  readonly #options: PipelineOptions;
  readonly #router = new Router<RouteRow>();
  /** By method and path as they are declared. */
  readonly #rows = new Map<string, RouteRow>();
  readonly #stages: Stages;
  readonly #identity: IdentityStage;
  /** Calls whose body is still being received, each at its `receivingAt`. */
  readonly #receiving: Call[] = [];
  #probedMs = 0;
  #inFlight = 0;
  #isLeaving = false;
  #isDraining = false;
  #onDrained: () => void = () => {};

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.role = options.role;
    unreadHops.logTo(options.log);
    this.isHttps = options.config.isHttps === true;
    this.changes = options.changes ?? null;
    this.meters = new RequestMeters(options.config.slowRequestMs ?? 0, options.log);
    this.longAnswers = new LongAnswers(this.meters.turns, this.meters.failed, options.areOrdersUnderway);
    for (const each of options.routes) {
      const row = toRow(each, options.config.rehearse === true);
      this.#router.add(each.method, each.path, row, each.hasEncodedParams);
      this.#rows.set(`${each.method} ${each.path}`, row);
    }
    this.#stages = new Stages(options, this.meters);
    this.#identity = this.#stages.identity;
  }

  /** True when every call is over. */
  get isIdle(): boolean {
    return this.#inFlight === 0;
  }

  /** True while a load balancer asks, often enough, if it may send requests here. */
  get isWatched(): boolean {
    return this.#options.clock.nowMs() - this.#probedMs < WATCHED_MS;
  }

  /** Runs the call through the stages. Its abort handler has been set. @param read its headers, where they are read */
  run(call: Call, request: HeaderLines, read: RequestHeaders | null = null): void {
    this.#inFlight++;
    try {
      const byFront = call.ahead?.kind === 'front' ? call.ahead.headers : null;
      this.#receive(call, read ?? byFront ?? RequestHeaders.of(request), request);
    } catch (error) {
      this.#stages.crash(call, error);
    }
    this.meters.turns.end(call.route, call.moments.arrivedUs);
  }

  /** The route that is declared so, for calls on sockets. */
  rowOf(method: string, path: string): RouteRow {
    const row = this.#rows.get(`${method} ${path}`);
    assert(row !== undefined, `pipeline: no route for ${method} ${path}`);
    return row;
  }

  /** Runs a call of a connection that its principal has opened through the stages after the key (RULES.md 8.13). */
  runLoggedIn(call: Call, row: RouteRow, principal: AccountPrincipal): void {
    this.#inFlight++;
    call.route = row.route;
    try {
      if (this.#isDraining || !this.#options.isReady()) refuse(call, { row: ERRORS.ENGINE_BUSY });
      else this.#stages.proceedIf(this.#identity.enter(call, row, principal), call, row);
    } catch (error) {
      this.#stages.crash(call, error);
    }
    this.meters.turns.end(call.route, call.moments.arrivedUs);
  }

  /** True while the principal of a connection may act. */
  isInForce(principal: AccountPrincipal, nowMs: number): boolean {
    return this.#identity.isInForce(principal, nowMs);
  }

  /** From now on each answer is the last on its connection. Resolves when no call is in flight, or after `limitMs`. */
  leave(limitMs: number): Promise<void> {
    this.#isLeaving = true;
    return this.#over(limitMs);
  }

  /** From now on new calls are refused. Resolves when those in flight are over, or after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void> {
    this.#isLeaving = true;
    this.#isDraining = true;
    // No part of these calls was carried out, and the rest of a body may never arrive.
    for (const call of [...this.#receiving]) {
      call.transport.closesConnection = true;
      refuse(call, { row: ERRORS.ENGINE_BUSY });
    }
    return this.#over(deadlineMs);
  }

  async #over(limitMs: number): Promise<void> {
    if (this.#inFlight === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
      timer = setTimeout(resolve, limitMs);
    });
    clearTimeout(timer);
  }

  /** After the handler was called, it still has to end the call; before that, the abort ends it. */
  abort(call: Call): void {
    call.aborted = true;
    call.transport.onGone?.();
    if (call.dispatched || call.answered) return;
    call.answered = true;
    this.onAnswered(call);
  }

  readonly onAnswered = (call: Call): void => {
    this.#options.idempotency.release(call);
    this.meters.ended(call);
    if (call.transport.receivingAt !== NOT_RECEIVING) this.#received(call);
    this.#inFlight--;
    if (this.#isLeaving && this.#inFlight === 0) this.#onDrained();
  };

  /** The stages that need the headers. */
  #receive(call: Call, headers: RequestHeaders, request: HeaderLines): void {
    call.headers = headers;
    const row = this.#transport(call, headers);
    if (row === null) return;
    const { route } = row;
    if (this.#options.config.trustProxy !== null) call.transport.forwardedFor = headers.forwardedFor;
    if (route.idempotency !== undefined || route.keepsKey) call.idempotencyKey = headers.idempotencyKey;
    if (route.hasForeignHeaders) headers.foreign = RequestHeaders.allOf(request);
    if (!this.#admitsCredential(call, row, headers) || call.addressPassage === false) return;
    if (headers.bodyBytes === 0) this.#pass(call, row);
    else if (call.ahead?.kind === 'front') {
      call.bodyBytes = call.ahead.body;
      call.moments.completeUs = nowUs();
      this.#pass(call, row);
    } else {
      call.transport.receivingAt = this.#receiving.push(call) - 1;
      collectBody(call, row, this.#onBody, refuseTooLarge);
    }
  }

  /** The row of the call, or null when the call has been answered. */
  #transport(call: Call, headers: RequestHeaders): RouteRow | null {
    const match = this.#find(call);
    const row = match?.endpoint.methods.get(call.method === 'HEAD' ? 'GET' : call.method);
    const bytes = headers.bodyBytes;
    // A body of unknown length could continue for ever after an early answer.
    call.transport.closesConnection = this.#isLeaving || bytes === CHUNKED || bytes === MALFORMED;
    if (match !== null && this.#isPreflight(call, headers, match.endpoint)) return null;
    if (row === undefined || !isForOperators(row.route)) this.#setCorsLines(call, headers);
    if (bytes > (row?.maxBodyBytes ?? MAX_BODY_BYTES)) refuseTooLarge(call);
    else if (match === null) refuse(call, { row: ERRORS.PATH_NOT_FOUND });
    else if (row === undefined) refuse(call, { row: ERRORS.METHOD_NOT_ALLOWED, allow: match.endpoint.allow });
    else if (bytes === MALFORMED) refuse(call, { row: ERRORS.MALFORMED_REQUEST });
    else if (!row.route.probe && (this.#isDraining || !this.#options.isReady())) {
      refuse(call, { row: ERRORS.ENGINE_BUSY });
    } else {
      if (row.route.probe && !call.transport.isAtAdminDoor) this.#probedMs = this.#options.clock.nowMs();
      call.route = row.route;
      call.params = match.params;
      return row;
    }
    return null;
  }

  /** Beside a door of their own, the routes of operators are unknown paths to everyone else. */
  #find({ path, transport }: Call): Match<RouteRow> | null {
    const match = this.#router.find(path);
    if (match === null || transport.isAtAdminDoor || this.#options.adminDoor === undefined) return match;
    for (const { route } of match.endpoint.methods.values()) if (isBehindAdminDoor(route)) return null;
    return match;
  }

  /** The checks of credentials that need only the headers. @returns false when the call is refused. */
  #admitsCredential(call: Call, row: RouteRow, headers: RequestHeaders): boolean {
    const { access } = row.route;
    if (isForOperators(row.route)) {
      if (access === 'operator' && this.#isOnThisMachine(call, headers)) return true;
      return this.#identity.admitAdministrator(call, row, headers.authorization);
    }
    if (access !== 'public' || offersCredential(headers)) return this.#identity.admit(call, row, headers);
    if (headers.isPassedOn && !this.#identity.isProxy(call)) this.meters.counts.ofUnnamedProxies++;
    call.addressPassage = this.#identity.countAddress(call, row.route);
    return true;
  }

  /** A proxy on this machine looks like a local user, unless it adds a header or the settings name it. */
  #isOnThisMachine(call: Call, headers: RequestHeaders): boolean {
    return !headers.isPassedOn && isFromHere(call) && !this.#identity.isProxy(call);
  }

  #setCorsLines(call: Call, { origin }: RequestHeaders): void {
    const { cors } = this.#options;
    if (cors !== undefined) call.transport.corsLines = cors.linesFor(origin, call.path);
  }

  /** True if the call was a browser's preflight request, which has been answered. */
  #isPreflight(
    call: Call,
    { origin, requestedMethod }: RequestHeaders,
    { methods, allow }: Endpoint<RouteRow>,
  ): boolean {
    const { cors } = this.#options;
    if (cors === undefined || call.method !== 'OPTIONS') return false;
    const requested = methods.get(requestedMethod);
    if (requested === undefined || isForOperators(requested.route)) return false;
    const lines = cors.preflightLinesFor(origin, call.path, allow);
    if (lines === null) return false;
    call.transport.corsLines = lines;
    ok(call, '{}');
    return true;
  }

  /** The last element takes its slot; a Set would be rebuilt every few bodies. */
  #received(call: Call): void {
    const last = this.#receiving.pop()!;
    if (last !== call) {
      this.#receiving[call.transport.receivingAt] = last;
      last.transport.receivingAt = call.transport.receivingAt;
    }
    call.transport.receivingAt = NOT_RECEIVING;
  }

  readonly #onBody = (call: Call, row: RouteRow): void => {
    this.#received(call);
    // Any two bytes end a chunk for uWebSockets.js: what follows such a body is not read as a request.
    call.transport.closesConnection = this.#isLeaving || call.headers.bodyBytes === CHUNKED;
    call.moments.completeUs = nowUs();
    try {
      this.#pass(call, row);
    } catch (error) {
      this.#stages.crash(call, error);
    }
    this.meters.turns.end(call.route, call.moments.completeUs);
  };

  /** The stages after the body; a stage that does not reach the next one has answered the call. */
  #pass(call: Call, row: RouteRow): void {
    const { offered, addressPassage } = call;
    const isKnown = offered !== null;
    const passage = isKnown ? this.#identity.identify(call, row, offered) : addressPassage;
    this.#stages.proceedIf(passage, call, row);
  }
}
