/**
 * The chain of the audit log (RULES.md 9.14). A record is one line of JSON, `previous` is the hash of the previous
 * record, and the last two members cover the text before them:
 *
 *   {"sequence":7,"version":1,"time":"…", … ,"previous":"<hash of record 6>","hash":"…","mac":"<key id>:…"}
 *    └─────────────────────────────────────── SHA-256 is hash, HMAC-SHA256 is mac ─┘
 *
 * `version` is the layout of the line (`audit` in shared/base/formats.ts). It is always the second member
 * (FILEVERSION-1). The first lines had no version, and are read as version 1.
 *
 * The hash needs no secret, so anyone with an export can check it. The MAC needs a key that is derived from the master
 * key, so a chain that was rewritten from some record on is detected although its hashes fit. The key's id, which
 * reveals nothing, distinguishes a record that was authenticated under an earlier master key from a forged record.
 */
import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto';
import { FORMATS } from '../base/formats.ts';

export type AuditKey = { readonly id: string; readonly bytes: Uint8Array };

/** A record without the members that the chain adds. */
export type AuditFields = Readonly<Record<string, unknown>> & { readonly version?: never };

/** The end of a chain: the number of the last record, and its hash. */
export type AuditHead = { readonly sequence: number; readonly hash: string };

/** An intact line: its hash matches its text. The caller must check that it follows the previous line. */
export type AuditLine = {
  readonly sequence: number;
  readonly event: string;
  readonly previous: string;
  readonly hash: string;
  /** `unknown`: the record was authenticated with another key, or no key is available. */
  readonly mac: 'valid' | 'invalid' | 'unknown';
  /** All other members of the record. */
  readonly fields: AuditFields;
};

/** The event of the record of a restore. Its number is above all numbers that may have been given out (floors.ts). */
export const RESTORED_EVENT = 'restored';
const KEY_BYTES = 32;
const KEY_PURPOSE = 'audit log';
const KEY_ID_DIGITS = 8;
const LINE_FORM = /^(\{.*),"hash":"([0-9a-f]{64})","mac":"([0-9a-f]{8}):([0-9a-f]{64})"\}$/s;

export const NO_RECORDS: AuditHead = Object.freeze({ sequence: 0, hash: '0'.repeat(64) });

export function deriveAuditKey(masterKey: Uint8Array): AuditKey {
  const bytes = new Uint8Array(hkdfSync('sha256', masterKey, '', KEY_PURPOSE, KEY_BYTES));
  return { id: hash('sha256', bytes).slice(0, KEY_ID_DIGITS), bytes };
}

/** Returns the line of the record after `head`, without its line break. */
export function chainLine(
  head: AuditHead,
  fields: AuditFields,
  key: AuditKey,
  version: number = FORMATS.audit.newest,
): { readonly line: string; readonly head: AuditHead } {
  const sequence = head.sequence + 1;
  // JSON escapes line breaks, so the text is one line whatever the fields contain.
  const text = JSON.stringify({ sequence, version, ...fields, previous: head.hash }).slice(0, -1);
  const digest = hash('sha256', text);
  return {
    line: `${text},"hash":"${digest}","mac":"${key.id}:${macOf(text, key)}"}`,
    head: { sequence, hash: digest },
  };
}

/** Null if the line was changed. With `key` null only hashes are checked. */
export function readLine(line: string, key: AuditKey | null): AuditLine | null {
  const match = LINE_FORM.exec(line);
  if (match === null) return null;
  const [, text, digest, keyId, mac] = match as unknown as [string, string, string, string, string];
  if (hash('sha256', text) !== digest) return null;
  try {
    const { sequence, version: _version, previous, ...fields } = JSON.parse(`${text}}`);
    return {
      sequence,
      event: String(fields.event),
      previous,
      hash: digest,
      mac: keyId === key?.id ? (isSame(mac, macOf(text, key)) ? 'valid' : 'invalid') : 'unknown',
      fields: { sequence, ...fields },
    };
  } catch {
    return null;
  }
}

/** Returns true if `line` is the record that follows `head`. A record of a restore may leave out numbers before it. */
export function follows({ sequence, previous, event, mac }: AuditLine, head: AuditHead): boolean {
  const isNext =
    event === RESTORED_EVENT && mac !== 'invalid' ? sequence > head.sequence : sequence === head.sequence + 1;
  return isNext && previous === head.hash;
}

function macOf(text: string, key: AuditKey): string {
  return createHmac('sha256', key.bytes).update(text).digest('hex');
}

function isSame(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
