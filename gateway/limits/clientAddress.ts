/**
 * The address of a call, and the subject under which anonymous calls are counted. IPv6 is counted by its /64, because a
 * single customer gets that many addresses; an IPv4 address mapped into IPv6 is the IPv4 address. X-Forwarded-For is
 * used only when a configured proxy sent it, and then read from the right, because any client can write its left end.
 */
import { type BlockList, isIP, isIPv4 } from 'node:net';
import { isWithin } from '../process/networks.ts';

/** `peer` is the address of the socket: 4 or 16 bytes. */
export function clientSubject(peer: Uint8Array, forwardedFor: string, trusted: BlockList | null): string {
  return toSubject(clientAddress(peer, forwardedFor, trusted));
}

/** The subject of a socket itself, without a look at headers: called for every connection that opens. */
export function peerSubject(peer: Uint8Array): string {
  if (peer.length === 4) return peer.join('.');
  const isMapped = peer[10] === 255 && peer[11] === 255 && peer.subarray(0, 10).every((byte) => byte === 0);
  if (isMapped) return peer.subarray(12).join('.');
  return [0, 2, 4, 6].map((index) => (peer[index]! * 256 + peer[index + 1]!).toString(16)).join(':');
}

/** The first address from the right that no trusted proxy has. */
export function clientAddress(peer: Uint8Array, forwardedFor: string, trusted: BlockList | null): string {
  let address = toText(peer);
  if (trusted === null || forwardedFor === '') return address;
  const hops = forwardedFor.split(',');
  while (isWithin(trusted, address)) {
    const hop = unmapped(hops.pop()?.trim() ?? '');
    if (isIP(hop) === 0) break;
    address = hop;
  }
  return address;
}

/** True for a socket opened on this machine; a proxy here may still forward remote requests. */
export function isLoopback(peer: Uint8Array): boolean {
  const address = toText(peer);
  return isIPv4(address) ? address.startsWith('127.') : expand(address).join(':') === '0:0:0:0:0:0:0:1';
}

function toSubject(address: string): string {
  if (isIPv4(address)) return address;
  return expand(address).slice(0, 4).join(':');
}

function toText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  let text = '';
  for (let index = 0; index < bytes.length; index += 2) {
    if (index > 0) text += ':';
    text += (bytes[index] * 256 + bytes[index + 1]).toString(16);
  }
  return unmapped(text);
}

function unmapped(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = expand(address);
  const isMapped = groups[5] === 'ffff' && groups.slice(0, 5).every((group) => group === '0');
  if (!isMapped) return address;
  const high = Number.parseInt(groups[6], 16);
  const low = Number.parseInt(groups[7], 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** The eight groups of an IPv6 address, each in its shortest form; the URL parser accepts every notation. */
function expand(address: string): string[] {
  const canonical = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1);
  const [left, right] = canonical.split('::');
  const before = left === '' ? [] : left.split(':');
  if (right === undefined) return before;
  const after = right === '' ? [] : right.split(':');
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
}
