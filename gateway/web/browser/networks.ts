/**
 * The networks that a wallet can be asked to add (EIP-3085): that of the exchange's default CHAIN_ID, and its test
 * network. The page itself connects to none of these addresses.
 */

type Network = {
  readonly chainName: string;
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly rpcUrls: readonly string[];
  readonly blockExplorerUrls: readonly string[];
};

const POL = { name: 'POL', symbol: 'POL', decimals: 18 };

/** By chain id. */
export const NETWORKS: ReadonlyMap<number, Network> = new Map([
  [
    137,
    {
      chainName: 'Polygon',
      nativeCurrency: POL,
      rpcUrls: ['https://polygon.drpc.org', 'https://polygon-rpc.com'],
      blockExplorerUrls: ['https://polygonscan.com'],
    },
  ],
  [
    80002,
    {
      chainName: 'Polygon Amoy',
      nativeCurrency: POL,
      rpcUrls: ['https://polygon-amoy.drpc.org', 'https://rpc-amoy.polygon.technology'],
      blockExplorerUrls: ['https://amoy.polygonscan.com'],
    },
  ],
]);
