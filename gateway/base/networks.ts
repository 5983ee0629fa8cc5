/** Sets of IP addresses in settings and keys: single addresses and networks, IPv4 and IPv6. */
import { BlockList, isIP } from 'node:net';

const IPV4_BITS = 32;
const IPV6_BITS = 128;

/** Returns null if an entry is neither an address nor a network such as `10.0.0.0/8`. */
export function tryParseNetworks(entries: readonly string[]): BlockList | null {
  const list = new BlockList();
  return entries.every((entry) => tryAdd(list, entry)) ? list : null;
}

/** @param address from `clientAddress`: an IPv4 address is never written as an IPv6 one. */
export function isWithin(networks: BlockList, address: string): boolean {
  return networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function tryAdd(list: BlockList, entry: string): boolean {
  const [address, prefixText, ...rest] = entry.split('/');
  const version = isIP(address);
  // A zone names an interface of this machine and is not part of a remote address.
  if (version === 0 || rest.length > 0 || address.includes('%')) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  if (prefixText === undefined) {
    list.addAddress(address, family);
    return true;
  }
  const prefix = /^[0-9]{1,3}$/.test(prefixText) ? Number(prefixText) : Number.NaN;
  if (!(prefix <= (version === 4 ? IPV4_BITS : IPV6_BITS))) return false;
  list.addSubnet(address, prefix, family);
  return true;
}
