/**
 * The part of a node's answer that other nodes have to confirm: exactly the fields that the callers of node.ts read, so
 * that a statement of a single node is never used. Two answers agree if their texts are equal.
 */
import { memberOf } from '../base/memberOf.ts';
import { NodeUnreachable } from './rpc.ts';

const BLOCK = ['number', 'hash', 'timestamp', 'gasLimit', 'baseFeePerGas'];
const RECEIPT = ['transactionHash', 'blockNumber', 'blockHash', 'status', 'gasUsed'];
const LOG = ['address', 'topics', 'data'];
const PLACED_LOG = [...LOG, 'blockNumber', 'blockHash', 'transactionHash', 'logIndex'];
const TRANSACTION = ['hash', 'to', 'input'];

/**
 * Throws NodeUnreachable if the answer is malformed.
 * @param head a transaction in a later block counts as one that waits for a block
 */
export function common(method: string, answer: unknown, head: number): unknown {
  if (answer === null) return null;
  switch (method) {
    case 'eth_getBlockByNumber':
      return picked(answer, BLOCK);
    case 'eth_getTransactionReceipt': {
      if (isAbove(answer, head)) return null;
      return { ...picked(answer, RECEIPT), logs: listed(fieldOf(answer, 'logs')).map((log) => picked(log, LOG)) };
    }
    case 'eth_getTransactionByHash':
      // A transaction that waits for a block may be in one node's pool and not in another's.
      return isAbove(answer, head) ? null : picked(answer, TRANSACTION);
    case 'eth_getLogs':
      return listed(answer).map((log) => picked(log, PLACED_LOG));
    default:
      return lower(answer);
  }
}

/** The block that a node must have seen before it can give this answer; null if it does not matter. */
export function blockAsked(method: string, params: readonly unknown[], answer: unknown): number | null {
  switch (method) {
    case 'eth_getBlockByNumber':
      return numberOf(params[0]);
    case 'eth_getLogs':
      return numberOf(fieldOf(params[0], 'toBlock'));
    case 'eth_getTransactionReceipt':
      return answer === null ? null : numberOf(fieldOf(answer, 'blockNumber'));
    case 'eth_getTransactionByHash':
      // Pools of nodes differ.
      return Number.POSITIVE_INFINITY;
    default:
      return params.length > 1 ? numberOf(params[1]) : null;
  }
}

/** Null if the value is not a number in hex. */
export function numberOf(value: unknown): number | null {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,13}$/.test(value) ? Number(value) : null;
}

export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) throw new NodeUnreachable('malformed answer of the node: no object');
  return memberOf(value, name);
}

function isAbove(answer: unknown, head: number): boolean {
  const block = numberOf(fieldOf(answer, 'blockNumber'));
  return block === null || block > head;
}

function picked(value: unknown, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, lower(fieldOf(value, name))]));
}

function listed(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new NodeUnreachable('malformed answer of the node: no list');
  return value;
}

/** Nodes write hex in upper or lower case. */
function lower(value: unknown): unknown {
  if (typeof value === 'string') return value.toLowerCase();
  return Array.isArray(value) ? value.map(lower) : value;
}
