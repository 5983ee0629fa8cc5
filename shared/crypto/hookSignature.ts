/**
 * Signatures of webhooks as Hook0 makes them, which Coinbase and the sandbox provider use. One header has the time and
 * one or two codes, each an HMAC-SHA256 in hex: `v0` of time and body, `v1` also of the headers that `h` names.
 *
 *     X-Hook0-Signature: t=1728394718,v0=9f8e…,h=content-type x-event-id,v1=a1b2…
 *
 * Invariants:
 *   HOOK-1  A body counts if one of the secrets has signed it, at most MAX_AGE_SEC ago or ahead. If there is a `v1`,
 *           only `v1` decides, so that changing a covered header does not lead to a fallback to `v0`.
 *   HOOK-2  Codes are compared in constant time.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export const HOOK_SIGNATURE = 'x-hook0-signature';

const MAX_AGE_SEC = 300;
const MAX_HEADER_LENGTH = 2048;
const MAX_COVERED = 16;
const CODE = /^[0-9a-f]{64}$/i;
const SECONDS = /^[0-9]{1,12}$/;
const HEADER_NAME = /^[a-z0-9-]{1,64}$/;

/** The headers of a request, by name in lower case. */
type HookHeaders = Readonly<Record<string, string | undefined>>;

/** The names of the headers that the code covers, in lower case; empty if only the body is signed. */
type SignedHook = { readonly covered: readonly string[] };

/** The new and the old secret while they are being replaced. */
type Secrets = readonly string[];

/** @returns null if none of the secrets has signed the body recently. */
export function checkHook(secrets: Secrets, headers: HookHeaders, body: Uint8Array, nowMs: number): SignedHook | null {
  const parts = tryParse(headers[HOOK_SIGNATURE] ?? '');
  if (parts === null || Math.abs(nowMs / 1000 - Number(parts.time)) > MAX_AGE_SEC) return null;
  const { time, v0, v1, names } = parts;
  if (v1 === undefined) return v0 !== undefined && isSigned(secrets, v0, `${time}.`, body) ? { covered: [] } : null;
  const text = names === undefined ? null : tryCoveredText(time, names, headers);
  if (text === null || !isSigned(secrets, v1, text, body)) return null;
  return { covered: names!.split(' ') };
}

/** @returns the header for a body that is sent now, with both codes; `headers` are the headers that `v1` covers. */
export function signHook(
  secret: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  nowMs: number,
): string {
  const time = String(Math.floor(nowMs / 1000));
  const covered = Object.keys(headers).join(' ');
  const v0 = codeOf(secret, `${time}.`, body).toString('hex');
  const v1 = codeOf(secret, tryCoveredText(time, covered, headers)!, body).toString('hex');
  return `t=${time},v0=${v0},h=${covered},v1=${v1}`;
}

type Parts = { time: string; v0: string | undefined; v1: string | undefined; names: string | undefined };

function tryParse(header: string): Parts | null {
  if (header.length > MAX_HEADER_LENGTH) return null;
  const parts = new Map<string, string>();
  for (const part of header.split(',')) {
    const [, name, value] = /^([a-z0-9]+)=(.*)$/.exec(part.trim()) ?? [];
    // A second value of the same name would make it ambiguous which one counts.
    if (name === undefined || parts.has(name)) return null;
    parts.set(name, value);
  }
  const [time, v0, v1] = [parts.get('t'), parts.get('v0'), parts.get('v1')];
  const areCodes = [v0, v1].every((code) => code === undefined || CODE.test(code));
  if (time === undefined || !SECONDS.test(time) || !areCodes) return null;
  return { time, v0, v1, names: parts.get('h') };
}

/** The text before the body that `v1` covers; null if a header that it names is missing. */
function tryCoveredText(time: string, names: string, headers: HookHeaders): string | null {
  const covered = names.split(' ');
  if (covered.length > MAX_COVERED || !covered.every((name) => HEADER_NAME.test(name))) return null;
  const values = covered.map((name) => headers[name]);
  return values.includes(undefined) ? null : `${time}.${names}.${values.join('.')}.`;
}

/** HOOK-2 */
function isSigned(secrets: Secrets, code: string, text: string, body: Uint8Array): boolean {
  const given = Buffer.from(code, 'hex');
  return secrets.some((secret) => timingSafeEqual(codeOf(secret, text, body), given));
}

function codeOf(secret: string, text: string, body: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(text).update(body).digest();
}
