/** Reminders, and timeouts in which an account may not trade (RULES.md 11). */
import {
  ACTIVE_TIMEOUT,
  CANCELLED_TIMEOUT,
  MAX_CUSTOM_HOURS,
  PREFERENCES,
  PREFERENCES_BODY,
  PREFERENCES_BODY_DOCUMENTED,
  REALITY_CHECK_MINUTES,
  SESSION_TIMEOUT_MINUTES,
  TIMEOUT_BODY,
  TIMEOUT_BODY_DOCUMENTED,
  TRADING_TIMEOUT,
} from '../../shared/api/accounts.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Call } from '../http/call.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import {
  DURATION_HOURS,
  type DurationLabel,
  type TradingTimeout,
  type TradingTimeouts,
} from './tradingTimeoutsStore.ts';

type TradingTimeoutDeps = { readonly tradingTimeouts: TradingTimeouts; readonly clock: Clock };

type Body = Readonly<Record<string, unknown>>;

const CREATED = 201;

const READ = { access: 'read:account', method: 'GET' } as const;
const WRITE = { access: 'manage:account', storing: true } as const;

const SHOW_PREFERENCES = {
  ...READ,
  path: '/v1/user/rg/preferences',
  id: 'getPreferences',
  summary: 'The reminders the account has asked for.',
  answers: { 200: PREFERENCES },
} as const satisfies RouteSpec;

const SET_PREFERENCES = {
  ...WRITE,
  method: 'PUT',
  path: '/v1/user/rg/preferences',
  id: 'setPreferences',
  summary: 'Changes the reminders; a field that is left out stays as it is.',
  body: PREFERENCES_BODY,
  documentedBody: PREFERENCES_BODY_DOCUMENTED,
  answers: { 200: PREFERENCES },
  errors: ['INVALID_INPUT'],
} as const satisfies RouteSpec;

const SHOW_TIMEOUT = {
  ...READ,
  path: '/v1/user/rg/timeout',
  id: 'getTradingTimeout',
  summary: 'The trading timeout in force, or null.',
  answers: { 200: ACTIVE_TIMEOUT },
} as const satisfies RouteSpec;

const START_TIMEOUT = {
  ...WRITE,
  method: 'POST',
  path: '/v1/user/rg/timeout',
  id: 'startTradingTimeout',
  summary: 'Starts a trading timeout: until it ends the account can only reduce its risk.',
  body: TIMEOUT_BODY,
  documentedBody: TIMEOUT_BODY_DOCUMENTED,
  answers: { 201: TRADING_TIMEOUT },
  errors: ['INVALID_INPUT', 'TIMEOUT_ALREADY_ACTIVE'],
} as const satisfies RouteSpec;

const CANCEL_TIMEOUT = {
  ...WRITE,
  method: 'POST',
  path: '/v1/user/rg/timeout/cancel',
  id: 'cancelTradingTimeout',
  summary: 'Ends the trading timeout in force.',
  answers: { 200: CANCELLED_TIMEOUT },
  errors: ['NO_ACTIVE_TIMEOUT'],
} as const satisfies RouteSpec;

export function tradingTimeoutRoutes(deps: TradingTimeoutDeps): Route[] {
  const { tradingTimeouts } = deps;
  return [
    route(SHOW_PREFERENCES, (call) => ok(call, preferencesJson(tradingTimeouts, call.principal.accountIndex))),
    route(SET_PREFERENCES, (call) => setPreferences(call, deps)),
    route(SHOW_TIMEOUT, (call) => showTimeout(call, deps)),
    route(START_TIMEOUT, (call) => startTimeout(call, deps)),
    route(CANCEL_TIMEOUT, (call) => cancelTimeout(call, deps)),
  ];
}

function preferencesJson(tradingTimeouts: TradingTimeouts, account: number): object {
  const { realityCheckMinutes, sessionTimeoutMinutes } = tradingTimeouts.preferences(account);
  return {
    reality_check_interval_minutes: realityCheckMinutes,
    session_timeout_minutes: sessionTimeoutMinutes,
  };
}

/** A field that is left out stays as it is. */
async function setPreferences(
  call: CallOf<typeof SET_PREFERENCES>,
  { tradingTimeouts }: TradingTimeoutDeps,
): Promise<void> {
  const { body } = call;
  if (!hasOnly(call, body, ['reality_check_interval_minutes', 'session_timeout_minutes'])) return;
  const account = call.principal.accountIndex;
  const old = tradingTimeouts.preferences(account);
  const realityCheckMinutes = body.reality_check_interval_minutes ?? null;
  const sessionTimeoutMinutes = body.session_timeout_minutes ?? null;
  if (!isOneOf(REALITY_CHECK_MINUTES, realityCheckMinutes)) refuseChoice(call, body, 'reality_check_interval_minutes');
  else if (!isOneOf(SESSION_TIMEOUT_MINUTES, sessionTimeoutMinutes))
    refuseChoice(call, body, 'session_timeout_minutes');
  else {
    tradingTimeouts.setPreferences(account, {
      realityCheckMinutes: 'reality_check_interval_minutes' in body ? realityCheckMinutes : old.realityCheckMinutes,
      sessionTimeoutMinutes: 'session_timeout_minutes' in body ? sessionTimeoutMinutes : old.sessionTimeoutMinutes,
    });
    const preferences = preferencesJson(tradingTimeouts, account);
    await tradingTimeouts.durable();
    ok(call, preferences);
  }
}

function showTimeout(call: CallOf<typeof SHOW_TIMEOUT>, { tradingTimeouts, clock }: TradingTimeoutDeps): void {
  const timeout = tradingTimeouts.activeTimeout(call.principal.accountIndex, clock.nowMs());
  ok(call, timeout === null ? 'null' : timeoutJson(timeout));
}

async function startTimeout(
  call: CallOf<typeof START_TIMEOUT>,
  { tradingTimeouts, clock }: TradingTimeoutDeps,
): Promise<void> {
  const { body } = call;
  if (!hasOnly(call, body, ['duration_label', 'custom_hours'])) return;
  const label = body.duration_label;
  if (!isDurationLabel(label)) return refuseChoice(call, body, 'duration_label');
  const hours = hoursOf(label, body.custom_hours ?? null);
  if (hours === null) return refuseChoice(call, body, 'custom_hours');
  const account = call.principal.accountIndex;
  const nowMs = clock.nowMs();
  if (tradingTimeouts.activeTimeout(account, nowMs) !== null)
    return refuse(call, { row: ERRORS.TIMEOUT_ALREADY_ACTIVE });
  const timeout = tradingTimeouts.startTimeout(account, label, hours, nowMs);
  await tradingTimeouts.durable();
  ok(call, timeoutJson(timeout), CREATED);
}

async function cancelTimeout(
  call: CallOf<typeof CANCEL_TIMEOUT>,
  { tradingTimeouts, clock }: TradingTimeoutDeps,
): Promise<void> {
  const nowMs = clock.nowMs();
  const timeout = tradingTimeouts.cancelTimeout(call.principal.accountIndex, nowMs);
  if (timeout === null) return refuse(call, { row: ERRORS.NO_ACTIVE_TIMEOUT });
  await tradingTimeouts.durable();
  ok(call, { ...timeoutJson(timeout), cancelled_at: new Date(nowMs).toISOString() });
}

function timeoutJson({ id, startedMs, endsMs, durationLabel }: TradingTimeout) {
  return {
    id,
    started_at: new Date(startedMs).toISOString(),
    ends_at: new Date(endsMs).toISOString(),
    duration_label: durationLabel,
  };
}

/** Null if the hours do not fit the label: no hours for a custom timeout, or a second length for a fixed one. */
function hoursOf(label: DurationLabel, customHours: unknown): number | null {
  if (label !== 'custom') return customHours === null ? DURATION_HOURS[label] : null;
  const isHours = typeof customHours === 'number' && Number.isInteger(customHours);
  return isHours && customHours >= 1 && customHours <= MAX_CUSTOM_HOURS ? customHours : null;
}

function isDurationLabel(value: unknown): value is DurationLabel {
  return value === 'custom' || (typeof value === 'string' && Object.hasOwn(DURATION_HOURS, value));
}

function isOneOf(allowed: readonly number[], value: unknown): value is number | null {
  return value === null || allowed.some((minutes) => minutes === value);
}

function hasOnly(call: Call, body: Body, fields: readonly string[]): boolean {
  const unknown = Object.keys(body).find((name) => !fields.includes(name));
  if (unknown === undefined) return true;
  refuseInput(call, `unknown field: ${unknown}`, { field: unknown, rule: 'additionalProperties' });
  return false;
}

function refuseChoice(call: Call, body: Body, field: string): void {
  const value = body[field];
  if (value === undefined) refuseInput(call, `missing field: ${field}`, { field, rule: 'required' });
  else refuseInput(call, `invalid ${field}`, { field, rule: 'range', value });
}

function refuseInput(call: Call, message: string, details: Body): void {
  refuse(call, { row: ERRORS.INVALID_INPUT, message, details });
}
