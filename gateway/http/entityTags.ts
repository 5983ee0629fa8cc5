/** Answers with an entity tag: a client that already has the tagged body does not receive it again (RULES.md 6.15). */
import { hash } from 'node:crypto';
import type { Call } from './call.ts';
import { JSON_TYPE } from './httpTransport.ts';
import { textSlicesOf } from './pieces.ts';
import { notModified, okInRows } from './respond.ts';

/** Cached bodies are tagged only once. */
const tags = new WeakMap<Buffer, string>();
const TAG_CHARACTERS = 22;

export function tagOf(body: Buffer): string {
  const known = tags.get(body);
  if (known !== undefined) return known;
  const tag = `"${hash('sha256', body, 'base64url').slice(0, TAG_CHARACTERS)}"`;
  tags.set(body, tag);
  return tag;
}

/** The whole body, or 304 where the header If-None-Match has its tag. */
export function okTagged(call: Call, body: Buffer, tag: string): void {
  const type = `${JSON_TYPE}\r\nETag: ${tag}`;
  if (isNamed(tag, call.headers.ifNoneMatch)) notModified(call, body, type);
  else okInRows(call, textSlicesOf(body), type);
}

/** Tags are compared without the mark for weak tags; a star matches every tag. */
export function isNamed(tag: string, ifNoneMatch: string): boolean {
  const named = ifNoneMatch.split(',').map((text) => text.trim().replace(/^W\//, ''));
  return named.includes(tag) || named.includes('*');
}
