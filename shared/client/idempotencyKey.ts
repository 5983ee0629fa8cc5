/**
 * The Idempotency-Key of a request, from its content: the same request has the same key, in this process and in the
 * next one, so that a repeat after a lost answer gets the first answer instead of a second order. Each signed order has
 * its own salt, so two intended orders have different keys.
 */
import { keccak256 } from '../crypto/keccak.ts';

const UUID_BYTES = 16;
const VERSION_AT = 6;
const VARIANT_AT = 8;
const HEX_GROUPS = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;
const encoder = new TextEncoder();

/** A UUID of version 8, for custom content. @param body exactly the bytes that are sent */
export function keyOfContent(method: string, path: string, body: string): string {
  const bytes = keccak256(encoder.encode(`${method} ${path}\n${body}`)).slice(0, UUID_BYTES);
  bytes[VERSION_AT] = (bytes[VERSION_AT] & 0x0f) | 0x80;
  bytes[VARIANT_AT] = (bytes[VARIANT_AT] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(HEX_GROUPS, '$1-$2-$3-$4-$5');
}
