/**
 * Says how many connections fit into the open files that the system allows the process. Each connection is one, as are
 * the databases and what threads wake each other with. If strangers used up the last one, the exchange could not
 * restart a thread or write a snapshot, and new clients would wait without an answer, because a connection that cannot
 * be accepted cannot be closed either. So the limit of connections is reached before the limit of files.
 */
import { readFileSync } from 'node:fs';
import { StartError } from '../base/startError.ts';

type OwnFiles = {
  readonly shards: number;
  readonly verifyThreads: number;
  readonly gateways: number;
  readonly hasAdminPort: boolean;
};

const BASE_FILES = 128;
const FILES_PER_SHARD = 24;
const FILES_PER_VERIFY_THREAD = 8;
const FILES_PER_GATEWAY = 12;
/** Of ADMIN_PORT, counted apart from the others: scripts and terminals of a few people. */
export const ADMIN_CONNECTIONS = 256;

/** More than the exchange itself has open: there is room for threads that start again, copies and calls. */
export function ownFiles({ shards, verifyThreads, gateways, hasAdminPort }: OwnFiles): number {
  const threads = FILES_PER_SHARD * shards + FILES_PER_VERIFY_THREAD * verifyThreads + FILES_PER_GATEWAY * gateways;
  return BASE_FILES + threads + (hasAdminPort ? ADMIN_CONNECTIONS : 0);
}

/** Throws where not even the exchange itself fits. @param allowed null where the system does not say. */
export function connectionsThatFit(wanted: number, allowed: number | null, own: number): number {
  if (allowed === null) return wanted;
  if (allowed <= own) {
    const needed = `the exchange needs more than ${own}: raise the limit (ulimit -n, LimitNOFILE)`;
    throw new StartError(`the system allows ${allowed} open files, and ${needed}`);
  }
  return Math.min(wanted, allowed - own);
}

/** Node has raised it as far as it may before this is read. Null where the system is not Linux. */
export function allowedOpenFiles(): number | null {
  try {
    const [, allowed] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return allowed === undefined ? null : Number(allowed);
  } catch {
    return null;
  }
}
