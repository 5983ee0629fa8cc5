/** The events of the exchange contract that its ledger follows, from logs. */
import { decodeEventLog, encodeEventTopics, type Hex } from 'viem';
import { lowerHex } from '../../shared/base/hex.ts';
import { EXCHANGE_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { PlacedLog } from '../../shared/chain/node.ts';

const FOLLOWED = [
  'Deposited',
  'Held',
  'EscrowSplit',
  'ExitRequested',
  'ExitCancelled',
  'Exited',
  'Claimed',
  'FeesSwept',
  'DelegateSet',
  'NonceFloorRaised',
] as const;

const topicOf = (eventName: (typeof FOLLOWED)[number]): Hex => {
  const [topic] = encodeEventTopics({ abi: EXCHANGE_ABI, eventName });
  return topic;
};
export const EVERY_EVENT: readonly Hex[] = FOLLOWED.map(topicOf);
/**
 * Events that a wallet causes by its own request; the request is its right, so they count from the head of the chain.
 */
export const REQUESTS: readonly Hex[] = [topicOf('ExitRequested'), topicOf('NonceFloorRaised')];

/** Asset 0 is USDC; every other asset is an outcome token. Wallets and conditions are in lower case. */
export type ChainEvent = { readonly log: PlacedLog } & (
  | { readonly is: 'deposited'; readonly wallet: Hex; readonly amount: bigint }
  | { readonly is: 'held' | 'exited'; readonly wallet: Hex; readonly assetId: bigint; readonly amount: bigint }
  | { readonly is: 'split'; readonly wallet: Hex; readonly condition: Hex; readonly amount: bigint }
  | { readonly is: 'exitRequested'; readonly wallet: Hex; readonly exitableAt: bigint }
  | { readonly is: 'exitCancelled'; readonly wallet: Hex }
  | { readonly is: 'claimed'; readonly wallet: Hex; readonly condition: Hex; readonly amount: bigint }
  | { readonly is: 'delegateSet'; readonly wallet: Hex; readonly signer: Hex; readonly until: bigint }
  | { readonly is: 'floorRaised'; readonly wallet: Hex; readonly floor: number }
  | { readonly is: 'feesSwept'; readonly assetId: bigint; readonly amount: bigint }
);

/** Returns null if the log does not have the form of the event; the contract never emits such a log. */
export function decodeChainEvent(log: PlacedLog): ChainEvent | null {
  const event = decoded(log);
  switch (event?.eventName) {
    case 'Deposited':
      return { log, is: 'deposited', wallet: lowerHex(event.args.account), amount: event.args.amount };
    case 'Held':
    case 'Exited': {
      const { account, assetId, amount } = event.args;
      return { log, is: event.eventName === 'Held' ? 'held' : 'exited', wallet: lowerHex(account), assetId, amount };
    }
    case 'EscrowSplit': {
      const { account, conditionId, amount } = event.args;
      return { log, is: 'split', wallet: lowerHex(account), condition: lowerHex(conditionId), amount };
    }
    case 'ExitRequested':
      return { log, is: 'exitRequested', wallet: lowerHex(event.args.account), exitableAt: event.args.exitableAt };
    case 'ExitCancelled':
      return { log, is: 'exitCancelled', wallet: lowerHex(event.args.account) };
    case 'Claimed': {
      const { account, conditionId, heldMicro } = event.args;
      return { log, is: 'claimed', wallet: lowerHex(account), condition: lowerHex(conditionId), amount: heldMicro };
    }
    case 'DelegateSet': {
      const { maker, signer, until } = event.args;
      return { log, is: 'delegateSet', wallet: lowerHex(maker), signer: lowerHex(signer), until };
    }
    case 'NonceFloorRaised': {
      const floor = Number(event.args.floor);
      return Number.isSafeInteger(floor) ? { log, is: 'floorRaised', wallet: lowerHex(event.args.maker), floor } : null;
    }
    case 'FeesSwept':
      return { log, is: 'feesSwept', assetId: event.args.assetId, amount: event.args.amount };
    default:
      return null;
  }
}

function decoded({ topics, data }: PlacedLog) {
  try {
    return decodeEventLog({ abi: EXCHANGE_ABI, topics: [topics[0], ...topics.slice(1)], data });
  } catch {
    return null;
  }
}
