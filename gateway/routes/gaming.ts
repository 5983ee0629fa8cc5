/** Responsible gaming: reminders, and timeouts in which an account may not trade (RULES.md 11). */
import type { Clock } from '../../shared/clock.ts';
import { ERRORS } from '../../shared/errors.ts';
import type { Call } from '../call.ts';
import { DURATION_HOURS, type DurationLabel, type Gaming, type TradingTimeout } from '../control/gaming.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';

export type GamingDeps = { readonly gaming: Gaming; readonly clock: Clock };

type Body = Readonly<Record<string, unknown>>;

const REALITY_CHECK_MINUTES = [15, 30, 60, 120] as const;
const SESSION_TIMEOUT_MINUTES = [60, 120, 240, 480] as const;
const MAX_CUSTOM_HOURS = 8760;
const CREATED = 201;

/** Fields and values are judged by the handlers, because here a wrong one has a code of its own. */
const BODY = { type: 'object' } as const;
const READ = { access: 'read:account', limit: 'unlisted', method: 'GET' } as const;
const WRITE = { access: 'manage:account', limit: 'unlisted' } as const;

export function gamingRoutes(deps: GamingDeps): Route[] {
  return [
    {
      ...READ,
      path: '/v1/user/rg/preferences',
      handler: (call) => ok(call, preferencesJson(deps.gaming, call.key!.accountIndex)),
    },
    {
      ...WRITE,
      method: 'PUT',
      path: '/v1/user/rg/preferences',
      body: BODY,
      handler: (call) => setPreferences(call, deps),
    },
    { ...READ, path: '/v1/user/rg/timeout', handler: (call) => showTimeout(call, deps) },
    {
      ...WRITE,
      method: 'POST',
      path: '/v1/user/rg/timeout',
      body: BODY,
      handler: (call) => beginTimeout(call, deps),
    },
    {
      ...WRITE,
      method: 'POST',
      path: '/v1/user/rg/timeout/cancel',
      handler: (call) => cancelTimeout(call, deps),
    },
  ];
}

function preferencesJson(gaming: Gaming, account: number): object {
  const { realityCheckMinutes, sessionTimeoutMinutes } = gaming.preferences(account);
  return {
    reality_check_interval_minutes: realityCheckMinutes,
    session_timeout_minutes: sessionTimeoutMinutes,
  };
}

/** A field that is left out stays as it is. */
function setPreferences(call: Call, { gaming }: GamingDeps): void {
  const body = call.json as Body;
  if (!hasOnly(call, body, ['reality_check_interval_minutes', 'session_timeout_minutes'])) return;
  const account = call.key!.accountIndex;
  const old = gaming.preferences(account);
  const realityCheckMinutes = body['reality_check_interval_minutes'] ?? null;
  const sessionTimeoutMinutes = body['session_timeout_minutes'] ?? null;
  if (!isOneOf(REALITY_CHECK_MINUTES, realityCheckMinutes)) refuseField(call, body, 'reality_check_interval_minutes');
  else if (!isOneOf(SESSION_TIMEOUT_MINUTES, sessionTimeoutMinutes)) refuseField(call, body, 'session_timeout_minutes');
  else {
    gaming.setPreferences(account, {
      realityCheckMinutes: 'reality_check_interval_minutes' in body ? realityCheckMinutes : old.realityCheckMinutes,
      sessionTimeoutMinutes: 'session_timeout_minutes' in body ? sessionTimeoutMinutes : old.sessionTimeoutMinutes,
    });
    ok(call, preferencesJson(gaming, account));
  }
}

function showTimeout(call: Call, { gaming, clock }: GamingDeps): void {
  const timeout = gaming.activeTimeout(call.key!.accountIndex, clock.nowMs());
  ok(call, timeout === null ? 'null' : timeoutJson(timeout));
}

function beginTimeout(call: Call, { gaming, clock }: GamingDeps): void {
  const body = call.json as Body;
  if (!hasOnly(call, body, ['duration_label', 'custom_hours'])) return;
  const label = body['duration_label'];
  if (!isDurationLabel(label)) {
    refuseField(call, body, 'duration_label');
    return;
  }
  const hours = hoursOf(label, body['custom_hours'] ?? null);
  if (hours === null) {
    refuseField(call, body, 'custom_hours');
    return;
  }
  const account = call.key!.accountIndex;
  const nowMs = clock.nowMs();
  if (gaming.activeTimeout(account, nowMs) !== null) fail(call, ERRORS.TIMEOUT_ALREADY_ACTIVE);
  else ok(call, timeoutJson(gaming.beginTimeout(account, label, hours, nowMs)), CREATED);
}

function cancelTimeout(call: Call, { gaming, clock }: GamingDeps): void {
  const nowMs = clock.nowMs();
  const timeout = gaming.cancelTimeout(call.key!.accountIndex, nowMs);
  if (timeout === null) fail(call, ERRORS.NO_ACTIVE_TIMEOUT);
  else ok(call, { ...timeoutJson(timeout), cancelled_at: new Date(nowMs).toISOString() });
}

function timeoutJson({ id, startedMs, endsMs, durationLabel }: TradingTimeout) {
  return {
    id,
    started_at: new Date(startedMs).toISOString(),
    ends_at: new Date(endsMs).toISOString(),
    duration_label: durationLabel,
  };
}

/** Null when the hours do not go with the label: none for a custom timeout, or a second length for a fixed one. */
function hoursOf(label: DurationLabel, customHours: unknown): number | null {
  if (label !== 'custom') return customHours === null ? DURATION_HOURS[label] : null;
  const isHours = Number.isInteger(customHours) && (customHours as number) >= 1;
  return isHours && (customHours as number) <= MAX_CUSTOM_HOURS ? (customHours as number) : null;
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
  refuse(call, `unknown field: ${unknown}`, { field: unknown, rule: 'additionalProperties' });
  return false;
}

function refuseField(call: Call, body: Body, field: string): void {
  const value = body[field];
  if (value === undefined) refuse(call, `missing field: ${field}`, { field, rule: 'required' });
  else refuse(call, `invalid ${field}`, { field, rule: 'range', value });
}

function refuse(call: Call, message: string, details: Body): void {
  fail(call, ERRORS.INVALID_INPUT, { message, details });
}
