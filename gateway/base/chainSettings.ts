/**
 * The settings of an exchange that settles on a chain (RULES.md 17.1, 17.3). RPC_URL turns this on; all others have a
 * meaning only beside it. Keys and the address of the node are secrets: no message repeats them.
 */

import type { SignerAt } from '../../shared/base/chainFacts.ts';
import { ADDRESS_BYTES, lowerHex, tryParseHex } from '../../shared/base/hex.ts';
import { MOST_MOVEMENT_FEE_MICRO } from '../../shared/base/movementFee.ts';

/**
 * USDC and conditional tokens of chain 137. The embedded ledger calls no contract: the exchange's address is used only
 * in the signing domain, and is the address for which the test vectors are signed.
 */
const DEFAULT_EXCHANGE = '0xab27b729d9cc4cb1c00960700446924159e9298d';
const DEFAULT_USDC = '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359';
const DEFAULT_CTF = '0x4d97dcd97ec945f40cf65f87097ace5ea0476045';
const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000';

export type ContractAddresses = Readonly<{
  exchange: string;
  marketFactory: string;
  usdc: string;
  ctf: string;
  feeSweeper: string;
}>;

/**
 * The jobs of keys. Each key signs for one: batches, decisions, payments, new markets, transfers for customers, permits
 * of deposits.
 */
export const CHAIN_JOBS = ['OPERATOR', 'RESOLVER', 'PAYER', 'DEPLOYER', 'RELAYER', 'PERMIT'] as const;
export type ChainJob = (typeof CHAIN_JOBS)[number];
export type KeySource = Readonly<
  { secret: string } | { keystore: string; passwordFile: string } | { signer: SignerAt }
>;

export type ChainConfig = Readonly<{
  /** The address of one node or, separated by commas, of several. */
  rpcUrl: string;
  /** Null if no contract needs the key. */
  keys: Readonly<Record<ChainJob, KeySource | null>>;
  /** The contract at which PAYER_KEY pays; null: OPERATOR_KEY pays at the exchange contract. */
  paymentsAddress: string | null;
  /** The contract that delays decisions and then applies them, unless another key vetoes. */
  resolutionsAddress: string;
  /** The highest price per unit of gas that a transaction offers. */
  mostFeeWei: bigint;
  /** A key with a lower balance raises an alert. */
  lowBalanceWei: bigint;
  /** Placing is refused while the newest block is older than this. */
  mostHeadAgeMs: number;
  /** Placing is refused while a trade has waited for its batch longer than this. */
  mostWaitMs: number;
  /** A withdrawal, split or merge of less is refused; in micro-USDC. */
  leastMovementMicro: number;
  /** Withdrawals, splits and merges that one account may make in 24 hours. */
  mostMovementsADay: number;
  /** The fee of each withdrawal, split or merge, in micro-USDC. */
  movementFeeMicro: number;
  /** The most that is paid in an hour to one account, and to all accounts; in micro-USDC. */
  mostPaidMicro: number;
  mostPaidToAllMicro: number;
}>;

type Reader = {
  has(name: string): boolean;
  text(name: string, fallback: string): string;
  integer(name: string, fallback: number, min: number, max: number): number;
  address(name: string, fallback: string): string;
  url(name: string, protocols: readonly string[]): string | null;
  urls(name: string, protocols: readonly string[]): readonly string[];
};
/** Settings of the exchange whose allowed values depend on a chain. */
type Others = Readonly<{
  collateralCheck: boolean;
  demo: boolean;
  fiat: { readonly providers: readonly unknown[] };
}>;

const SECRET_KEY = /^0x[0-9a-fA-F]{64}$/;
const ORDER_OF_SECP256K1 = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const GWEI_WEI = 1_000_000_000n;
const CONTRACTS = ['EXCHANGE_ADDRESS', 'MARKET_FACTORY_ADDRESS', 'USDC_ADDRESS', 'CTF_ADDRESS'];
/** A market factory that was deployed without this contract can get one at any time. */
const WITHOUT_RESOLUTIONS =
  'RESOLUTIONS_ADDRESS: needed with RPC_URL, because decisions wait there; data/docs/chain.md says how to get one';
const NEEDED: readonly ChainJob[] = ['OPERATOR', 'RESOLVER', 'DEPLOYER', 'PERMIT'];
const MOST_MS = 3_600_000;

export function readContracts(read: Reader): ContractAddresses {
  return Object.freeze({
    exchange: read.address('EXCHANGE_ADDRESS', DEFAULT_EXCHANGE),
    marketFactory: read.address('MARKET_FACTORY_ADDRESS', ZERO_ADDRESS),
    usdc: read.address('USDC_ADDRESS', DEFAULT_USDC),
    ctf: read.address('CTF_ADDRESS', DEFAULT_CTF),
    feeSweeper: read.address('FEE_SWEEPER_ADDRESS', ZERO_ADDRESS),
  });
}

/** @returns null without RPC_URL; a text says why the settings are refused. */
export function readChain(read: Reader, others: Others): ChainConfig | string | null {
  const rpcUrl = read.urls('RPC_URL', ['http:', 'https:']).join();
  if (rpcUrl === '') return null;
  const missing = CONTRACTS.find((name) => !read.has(name));
  if (missing !== undefined) return `${missing}: needed with RPC_URL, as are the addresses of the other contracts`;
  if (!read.has('RESOLUTIONS_ADDRESS')) return WITHOUT_RESOLUTIONS;
  if (!others.collateralCheck) return 'COLLATERAL_CHECK: off makes trades that cannot settle, and RPC_URL is set';
  if (others.demo) return 'DEMO: on gives play money that the chain of RPC_URL does not have';
  const keys: Partial<Record<ChainJob, KeySource | null>> = {};
  for (const job of CHAIN_JOBS) {
    const source = readKey(read, job);
    if (typeof source === 'string') return source;
    if (source === null && NEEDED.includes(job))
      return `${job}_KEY, ${job}_KEYSTORE or ${job}_SIGNER: needed with RPC_URL`;
    keys[job] = source;
  }
  if ((keys.PAYER === null) === read.has('PAYMENTS_ADDRESS')) {
    return 'PAYMENTS_ADDRESS and PAYER_KEY, PAYER_KEYSTORE or PAYER_SIGNER: set both or neither';
  }
  if (keys.RELAYER === null && others.fiat.providers.length > 0) {
    return 'RELAYER_KEY, RELAYER_KEYSTORE or RELAYER_SIGNER: needed where RPC_URL and FIAT_PROVIDERS are set';
  }
  return Object.freeze({
    rpcUrl,
    keys: Object.freeze(keys as Record<ChainJob, KeySource | null>),
    paymentsAddress: keys.PAYER === null ? null : read.address('PAYMENTS_ADDRESS', ''),
    resolutionsAddress: read.address('RESOLUTIONS_ADDRESS', ''),
    mostFeeWei: BigInt(read.integer('MOST_FEE_GWEI', 1000, 1, 1_000_000_000)) * GWEI_WEI,
    lowBalanceWei: BigInt(read.integer('LOW_BALANCE_GWEI', 5_000_000_000, 0, Number.MAX_SAFE_INTEGER)) * GWEI_WEI,
    mostHeadAgeMs: read.integer('MOST_HEAD_AGE_MS', 30_000, 1000, MOST_MS),
    mostWaitMs: read.integer('MOST_SETTLEMENT_WAIT_MS', 60_000, 1000, MOST_MS),
    leastMovementMicro: read.integer('LEAST_CHAIN_MOVEMENT_MICRO', 1_000_000, 1, 1_000_000_000),
    mostPaidMicro: read.integer('MOST_PAID_AN_HOUR_MICRO', 100_000_000_000, 1, Number.MAX_SAFE_INTEGER),
    mostPaidToAllMicro: read.integer('MOST_PAID_TO_ALL_AN_HOUR_MICRO', 1_000_000_000_000, 8, Number.MAX_SAFE_INTEGER),
    mostMovementsADay: read.integer('MOST_CHAIN_MOVEMENTS_A_DAY', 20, 1, 1_000_000_000),
    movementFeeMicro: read.integer('CHAIN_MOVEMENT_FEE_MICRO', 25_000, 0, MOST_MOVEMENT_FEE_MICRO),
  });
}

/** True for 32 bytes that are a valid key of the curve. */
export function isSecretKey(text: string): boolean {
  if (!SECRET_KEY.test(text)) return false;
  const secret = BigInt(text);
  return secret > 0n && secret < ORDER_OF_SECP256K1;
}

function readKey(read: Reader, job: ChainJob): KeySource | string | null {
  const [key, keystore, passwordFile] = [`${job}_KEY`, `${job}_KEYSTORE`, `${job}_KEYSTORE_PASSWORD_FILE`];
  const signer = read.url(`${job}_SIGNER`, ['http:', 'https:', 'unix:']);
  if (signer !== null) return readSigner(read, job, signer);
  if (read.has(key) && read.has(keystore)) return `${key} and ${keystore}: set one of them`;
  if (read.has(key)) {
    const secret = read.text(key, '');
    return isSecretKey(secret) ? Object.freeze({ secret }) : `${key}: expected 0x and 64 hex digits of a secret key`;
  }
  if (read.has(keystore) !== read.has(passwordFile)) return `${keystore} and ${passwordFile}: set both or neither`;
  if (!read.has(keystore)) return null;
  return Object.freeze({ keystore: read.text(keystore, ''), passwordFile: read.text(passwordFile, '') });
}

function readSigner(read: Reader, job: ChainJob, url: string): KeySource | string {
  const other = [`${job}_KEY`, `${job}_KEYSTORE`].find((name) => read.has(name));
  if (other !== undefined) return `${other} and ${job}_SIGNER: set one of them`;
  const name = `${job}_SIGNER_ADDRESS`;
  const address = read.text(name, '');
  if (!tryParseHex(address, ADDRESS_BYTES, new Uint8Array(ADDRESS_BYTES), 0))
    return `${name}: expected 0x and 40 hex digits, the address of the signer's key`;
  return Object.freeze({ signer: Object.freeze({ url, address: lowerHex(address) }) });
}
