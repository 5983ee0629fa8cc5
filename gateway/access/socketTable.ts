/**
 * Finds out the holders of a port's connections from the operating system (RULES.md 4.10). uWebSockets.js reports the
 * address of a connection when it opens, but not when it closes; Linux lists every open connection. The kernel takes
 * about 20 ms for a list of ten thousand; a thread of the pool waits for that, and this thread parses the list in
 * pieces. It is requested only while connections become scarce.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { peerSubject } from '../base/clientAddress.ts';

/** The number of connections by subject (base/clientAddress.ts). */
export type Holders = ReadonlyMap<string, number>;

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
const PIECE_BYTES = 16_384;
const IPV4_DIGITS = 8;
const IPV6_DIGITS = 32;
/** The first 64 bits of an address. */
const NETWORK_DIGITS = 16;
const IPV4_MAPPED = '0000000000000000FFFF0000';
const LISTENING = '0A';
const NO_INODE = '0';
/** `sl: local:port remote:port state tx:rx tr:when retransmits uid timeout inode`, after one line of titles. */
const LINE = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} ([0-9A-F]{2}) +\S+ +\S+ +\S+ +\S+ +\S+ +(\d+)/;

/** Resolves to null if the system has no such list. */
export async function holdersOf(port: number): Promise<Holders | null> {
  const byNetwork = new Map<string, number>();
  for (const path of TABLES) {
    if (!(await readTable(path, port, byNetwork)) && path === TABLES[0]) return null;
  }
  const holders = new Map<string, number>();
  for (const [digits, count] of byNetwork) {
    const subject = peerSubject(bytesOf(digits));
    holders.set(subject, (holders.get(subject) ?? 0) + count);
  }
  return holders;
}

/** Returns false if the table cannot be read; a machine without IPv6 has only the first table. */
async function readTable(path: string, port: number, byNetwork: Map<string, number>): Promise<boolean> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const piece = Buffer.alloc(PIECE_BYTES);
    let rest = '';
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, null);
      if (bytesRead === 0) return true;
      const lines = (rest + piece.toString('latin1', 0, bytesRead)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) countLine(line, port, byNetwork);
    }
  } catch {
    return false;
  } finally {
    await file?.close();
  }
}

export function countLine(line: string, port: number, byNetwork: Map<string, number>): void {
  const fields = LINE.exec(line);
  if (fields === null) return;
  const [, localPort, remote, state, inode] = fields;
  if (inode === NO_INODE || state === LISTENING || Number.parseInt(localPort, 16) !== port) return;
  const network = networkOf(remote);
  byNetwork.set(network, (byNetwork.get(network) ?? 0) + 1);
}

/** Returns the digits that distinguish subjects. */
function networkOf(digits: string): string {
  if (digits.length < IPV6_DIGITS) return digits;
  return digits.startsWith(IPV4_MAPPED) ? digits.slice(-IPV4_DIGITS) : digits.slice(0, NETWORK_DIGITS);
}

/** An address is printed as 32-bit words in the byte order of the machine, which is little-endian. */
function bytesOf(digits: string): Uint8Array {
  const printed = Buffer.from(digits, 'hex');
  const address = new Uint8Array(digits.length === IPV4_DIGITS ? 4 : 16);
  for (let index = 0; index < printed.length; index++) address[index] = printed[(index & ~3) + 3 - (index & 3)];
  return address;
}
