/**
 * The settings of an exchange on several machines (RULES.md 18.1): every member also writes its commits to a log in
 * PostgreSQL. The addresses of that log may contain a password, so no message repeats them.
 */
import { hostsOf, JournalUrlError, journalUrlOf } from '../../shared/base/journalUrl.ts';
import { isLoopback } from './exposure.ts';

export type ClusterConfig = Readonly<{
  /** The addresses of the log; if there are several hosts, the writable one is used. May contain a password. */
  url: string;
  /** Name of the cluster; one log can hold several clusters. */
  name: string;
  /** Name of this process; no other member has the same. */
  member: string;
  /** The origin at which clients reach this member. */
  address: string;
  /** Accepts a database that keeps its commits on one machine only. */
  allowsUnreplicated: boolean;
  /** Accepts a database that does not sync its commits. */
  allowsUnsynced: boolean;
}>;

type Reader = {
  has(name: string): boolean;
  isFile(name: string): boolean;
  text(name: string, fallback: string): string;
  choice<const T extends string>(name: string, choices: readonly T[], fallback: T): T;
  flag(name: string, fallback: boolean): boolean;
  origin(name: string): string | null;
};

type Surroundings = Readonly<{
  host: string;
  port: number;
  hasTls: boolean;
  isLoopback: boolean;
  demo: boolean;
}>;

/** The limit is several times the length of a usual origin: every member reserves this many bytes for it. */
export const MOST_ADDRESS_BYTES = 1012;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** @returns null without a replicated log; a text says why the settings are refused. */
export function readCluster(read: Reader, surroundings: Surroundings): ClusterConfig | null | string {
  const journal = read.choice('JOURNAL', ['sqlite', 'postgres'], 'sqlite');
  const url = urlOf(read);
  if (url instanceof JournalUrlError) return url.message;
  const name = read.text('CLUSTER_NAME', 'exchange');
  const member = read.text('MEMBER_NAME', '');
  const memberUrl = read.origin('MEMBER_URL');
  const allowsUnreplicated = read.flag('JOURNAL_UNREPLICATED', false);
  const allowsUnsynced = read.flag('JOURNAL_UNSYNCED', false);
  if (journal === 'sqlite') return url === '' ? null : 'JOURNAL_URL: has an effect only with JOURNAL=postgres';
  if (url === '') return 'JOURNAL=postgres: JOURNAL_URL or JOURNAL_URL_FILE must be set';
  if (!NAME.test(name)) return 'CLUSTER_NAME: expected up to 63 letters, digits, dots, dashes and underscores';
  if (member === '') return 'JOURNAL=postgres: MEMBER_NAME must be set, to a name of this member alone';
  if (!NAME.test(member)) return 'MEMBER_NAME: expected up to 63 letters, digits, dots, dashes and underscores';
  for (const needed of ['MASTER_KEY', 'SHARDS']) {
    if (read.has(needed) && !read.isFile(needed)) continue;
    return `JOURNAL=postgres: ${needed} must be set, to the same value on every member`;
  }
  if (surroundings.demo) return 'JOURNAL=postgres: there is no demo with DEMO=on, whose keys are on one machine';
  if (allowsUnsynced && !(surroundings.isLoopback && hostsOf(url).every(isLoopback))) {
    return 'JOURNAL_UNSYNCED: on is for tests, and needs a loopback HOST and a database on loopback';
  }
  const address = memberUrl ?? ownAddress(surroundings);
  if (address === null) return 'JOURNAL=postgres: MEMBER_URL must be set, to the origin of this member';
  if (Buffer.byteLength(address) > MOST_ADDRESS_BYTES) return `MEMBER_URL: is longer than ${MOST_ADDRESS_BYTES} bytes`;
  return Object.freeze({ url, name, member, address, allowsUnreplicated, allowsUnsynced });
}

function urlOf(read: Reader): string | JournalUrlError {
  try {
    return journalUrlOf({
      JOURNAL_URL: read.text('JOURNAL_URL', ''),
      JOURNAL_URL_FILE: read.text('JOURNAL_URL_FILE', ''),
    });
  } catch (error) {
    if (error instanceof JournalUrlError) return error;
    throw error;
  }
}

/**
 * An address that others can use: not on loopback, which only this machine knows, and not on a port that the system
 * chooses.
 */
function ownAddress({ host, port, hasTls, isLoopback }: Surroundings): string | null {
  if (!isLoopback || port === 0) return null;
  return `${hasTls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
