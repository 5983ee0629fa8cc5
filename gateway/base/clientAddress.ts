/**
 * The address of a request, and the subject under which anonymous requests are counted. IPv6 is counted by /64, because
 * a single customer gets that many addresses; an IPv4 address mapped into IPv6 counts as the IPv4 address.
 * X-Forwarded-For is used only if a configured proxy has sent it, and is read from the right, because any client can
 * write its left end. Some proxies write the port beside the address.
 */
import { type BlockList, isIP, isIPv4 } from 'node:net';
import type { Logger } from './log.ts';
import { isWithin } from './networks.ts';

/** Matches an address with the port that some proxies add, or an IPv6 address in brackets with or without a port. */
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d{1,5})?|([^:]*):\d{1,5})$/;
/** Characters of a header that are logged and shown; a client may have made it up. */
const MOST_SHOWN = 64;

/** `peer` is the address of the socket: 4 or 16 bytes. */
export function clientSubject(peer: Uint8Array, forwardedFor: string, trusted: BlockList | null): string {
  return toSubject(clientAddress(peer, forwardedFor, trusted));
}

/** Returns the subject of a socket without reading headers: called for every connection that opens. */
export function peerSubject(peer: Uint8Array): string {
  if (peer.length === 4) return peer.join('.');
  const isMapped = peer[10] === 255 && peer[11] === 255 && peer.subarray(0, 10).every((byte) => byte === 0);
  if (isMapped) return peer.subarray(12).join('.');
  return [0, 2, 4, 6].map((index) => (peer[index] * 256 + peer[index + 1]).toString(16)).join(':');
}

/** Returns the first address from the right that is not a trusted proxy's. */
export function clientAddress(peer: Uint8Array, forwardedFor: string, trusted: BlockList | null): string {
  return clientOf(peer, forwardedFor, trusted).address;
}

/**
 * `unread` is the text that a trusted proxy wrote instead of an address; the client then has the address of the proxy.
 */
type Client = { readonly address: string; readonly unread: string | null };

export function clientOf(peer: Uint8Array, forwardedFor: string, trusted: BlockList | null): Client {
  let address = toText(peer);
  if (trusted === null || forwardedFor === '') return { address, unread: null };
  const hops = forwardedFor.split(',');
  while (isWithin(trusted, address)) {
    const hop = hops.pop()?.trim() ?? '';
    if (hop === '') break;
    const before = addressOf(hop);
    if (before === null) {
      const unread = hop.slice(0, MOST_SHOWN);
      unreadHops.note(address, unread);
      return { address, unread };
    }
    address = before;
  }
  return { address, unread: null };
}

/** Returns null if the text is no address. */
function addressOf(hop: string): string | null {
  const parts = isIP(hop) === 0 ? WITH_PORT.exec(hop) : null;
  const [address] = (parts?.[1] ?? parts?.[2] ?? hop).split('%');
  return isIP(address) === 0 ? null : unmapped(address);
}

/**
 * Logs once what a trusted proxy wrote instead of an address: it is the same for every request.
 * Owner: a thread that answers requests; each has one of these.
 */
class UnreadHops {
  #log: Pick<Logger, 'warn'> | null = null;
  #isNoted = false;

  logTo(log: Pick<Logger, 'warn'>): void {
    this.#log = log;
    this.#isNoted = false;
  }

  note(proxy: string, unread: string): void {
    if (this.#isNoted || this.#log === null) return;
    this.#isNoted = true;
    this.#log.warn(
      { proxy, forwarded_for: unread },
      'X-Forwarded-For of a trusted proxy has no address: its clients share one quota, and allowed_ips see the proxy',
    );
  }
}

export const unreadHops = new UnreadHops();

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
