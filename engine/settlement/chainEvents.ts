/** The events of the exchange contract that its ledger follows, from logs. */
import { decodeEventLog, encodeEventTopics, type Hex } from 'viem';
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
  return topic as Hex;
};
export const EVERY_EVENT: readonly Hex[] = FOLLOWED.map(topicOf);
/**
 * Events that a wallet causes by its own request; the request is its right, so they count from the head of the chain.
 */
export const REQUESTS: readonly Hex[] = [topicOf('ExitRequested'), topicOf('NonceFloorRaised')];

/** Asset 0 is USDC; every other asset is an outcome token. Wallets and conditions are in lower case. */
export type ChainEvent = { readonly log: PlacedLog } & (
  | { readonly is: 'deposited'; readonly wallet: string; readonly amount: bigint }
  | { readonly is: 'held' | 'exited'; readonly wallet: string; readonly assetId: bigint; readonly amount: bigint }
  | { readonly is: 'split'; readonly wallet: string; readonly condition: string; readonly amount: bigint }
  | { readonly is: 'exitRequested'; readonly wallet: string; readonly exitableAt: bigint }
  | { readonly is: 'exitCancelled'; readonly wallet: string }
  | { readonly is: 'claimed'; readonly wallet: string; readonly condition: string; readonly amount: bigint }
  | { readonly is: 'delegateSet'; readonly wallet: string; readonly signer: string; readonly until: bigint }
  | { readonly is: 'floorRaised'; readonly wallet: string; readonly floor: number }
  | { readonly is: 'feesSwept'; readonly assetId: bigint; readonly amount: bigint }
);

/** Returns null if the log does not have the form of the event; the contract never emits such a log. */
export function decodeChainEvent(log: PlacedLog): ChainEvent | null {
  const event = decoded(log);
  switch (event?.eventName) {
    case 'Deposited':
      return { log, is: 'deposited', wallet: lower(event.args.account), amount: event.args.amount };
    case 'Held':
    case 'Exited': {
      const { account, assetId, amount } = event.args;
      return { log, is: event.eventName === 'Held' ? 'held' : 'exited', wallet: lower(account), assetId, amount };
    }
    case 'EscrowSplit': {
      const { account, conditionId, amount } = event.args;
      return { log, is: 'split', wallet: lower(account), condition: lower(conditionId), amount };
    }
    case 'ExitRequested':
      return { log, is: 'exitRequested', wallet: lower(event.args.account), exitableAt: event.args.exitableAt };
    case 'ExitCancelled':
      return { log, is: 'exitCancelled', wallet: lower(event.args.account) };
    case 'Claimed': {
      const { account, conditionId, heldMicro } = event.args;
      return { log, is: 'claimed', wallet: lower(account), condition: lower(conditionId), amount: heldMicro };
    }
    case 'DelegateSet': {
      const { maker, signer, until } = event.args;
      return { log, is: 'delegateSet', wallet: lower(maker), signer: lower(signer), until };
    }
    case 'NonceFloorRaised': {
      const floor = Number(event.args.floor);
      return Number.isSafeInteger(floor) ? { log, is: 'floorRaised', wallet: lower(event.args.maker), floor } : null;
    }
    case 'FeesSwept':
      return { log, is: 'feesSwept', assetId: event.args.assetId, amount: event.args.amount };
    default:
      return null;
  }
}

function decoded({ topics, data }: PlacedLog) {
  try {
    return decodeEventLog({ abi: EXCHANGE_ABI, topics: topics as [Hex, ...Hex[]], data });
  } catch {
    return null;
  }
}

function lower(text: string): string {
  return text.toLowerCase();
}
