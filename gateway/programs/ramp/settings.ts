/**
 * The environment of the sandbox provider. Settings shared with the exchange have the exchange's names (RULES.md 16.2);
 * its own begin with RAMP_.
 */
import { ADDRESS_BYTES, tryParseHex } from '../../../shared/base/hex.ts';

const PRIVATE_KEY_BYTES = 32;
const DEFAULT_URL = 'http://127.0.0.1:8090';
const DEFAULT_EXCHANGE = 'http://127.0.0.1:8080';
const GWEI_WEI = 1_000_000_000n;
/** The exchange's MOST_FEE_GWEI has the same default. */
const DEFAULT_FEE_GWEI = '1000';

/** The chain on which it moves USDC. */
type RampChain = {
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly usdc: `0x${string}`;
  readonly mostFeeWei: bigint;
};

export type RampSettings = {
  /** The address at which others reach it. */
  readonly url: URL;
  readonly apiKey: string;
  /** The first secret signs. */
  readonly webhookSecret: string;
  readonly exchangeUrl: URL;
  readonly privateKey: string;
  readonly file: string;
  readonly returnOrigins: readonly string[];
  readonly hasControl: boolean;
  /** Null: its USDC is in the books of the exchange. */
  readonly chain: RampChain | null;
};

/** @returns the settings, or a text that says why they are refused, without any of their values. */
export function readRampSettings(env: Readonly<Record<string, string | undefined>>): RampSettings | string {
  const text = (name: string): string => (env[name] ?? '').trim();
  const url = loopback(text('FIAT_SANDBOX_URL') || DEFAULT_URL);
  if (url === null) return 'FIAT_SANDBOX_URL: expected http on loopback: it is for trying, and holds play money';
  const exchangeUrl = originOf(text('RAMP_EXCHANGE_URL') || DEFAULT_EXCHANGE);
  if (exchangeUrl === null) return 'RAMP_EXCHANGE_URL: expected the address of the exchange';
  const [apiKey, secrets] = [text('FIAT_SANDBOX_API_KEY'), text('FIAT_SANDBOX_WEBHOOK_SECRETS')];
  if (!/^[!-~]+$/.test(apiKey)) return 'FIAT_SANDBOX_API_KEY: expected printable ASCII without spaces';
  const [webhookSecret] = secrets.split(',').map((secret) => secret.trim());
  if (webhookSecret === '') return 'FIAT_SANDBOX_WEBHOOK_SECRETS: the provider signs its events with the first one';
  const privateKey = text('RAMP_PRIVATE_KEY');
  if (!tryParseHex(privateKey, PRIVATE_KEY_BYTES, new Uint8Array(PRIVATE_KEY_BYTES), 0)) {
    return 'RAMP_PRIVATE_KEY: expected the key of its wallet, 0x and 64 hex digits';
  }
  const origins = text('RAMP_RETURN_ORIGINS');
  const returnOrigins = origins === '' ? [exchangeUrl.origin] : origins.split(',').map((origin) => origin.trim());
  if (!returnOrigins.every((origin) => originOf(origin)?.origin === origin)) {
    return 'RAMP_RETURN_ORIGINS: expected origins separated by commas';
  }
  const control = text('RAMP_CONTROL') || 'on';
  if (control !== 'on' && control !== 'off') return 'RAMP_CONTROL: expected on or off';
  const file = text('RAMP_FILE') || 'data/live/ramp.db';
  const chain = readChain(text);
  if (typeof chain === 'string') return chain;
  const hasControl = control === 'on';
  return { url, apiKey, webhookSecret, exchangeUrl, privateKey, file, returnOrigins, hasControl, chain };
}

/** With RPC_URL the exchange is on that chain, and so is the wallet. */
function readChain(text: (name: string) => string): RampChain | string | null {
  const rpcUrl = text('RPC_URL');
  if (rpcUrl === '') return null;
  if (!URL.canParse(rpcUrl) || !/^https?:$/.test(new URL(rpcUrl).protocol)) return 'RPC_URL: expected http or https';
  const chainId = Number(text('CHAIN_ID'));
  if (!Number.isSafeInteger(chainId) || chainId <= 0) return 'CHAIN_ID: expected the number of the chain of RPC_URL';
  const usdc = text('USDC_ADDRESS').toLowerCase();
  if (!tryParseHex(usdc, ADDRESS_BYTES, new Uint8Array(ADDRESS_BYTES), 0)) {
    return 'USDC_ADDRESS: expected the token on the chain of RPC_URL';
  }
  const feeGwei = text('MOST_FEE_GWEI') || DEFAULT_FEE_GWEI;
  if (!/^[1-9][0-9]{0,8}$/.test(feeGwei)) return 'MOST_FEE_GWEI: expected a count of gwei';
  return { rpcUrl, chainId, usdc, mostFeeWei: BigInt(feeGwei) * GWEI_WEI };
}

function loopback(text: string): URL | null {
  const url = originOf(text);
  const isLoopback = url !== null && /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])$/.test(url.hostname);
  return isLoopback && url.protocol === 'http:' ? url : null;
}

function originOf(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' ? url : null;
}
