/** The environment of `npm run polymarket`: its own settings begin with POLYMARKET_. */

/** Each with its default, and when one would change it. data/docs/polymarket.md has this table (npm run docs). */
export const POLYMARKET_SETTINGS = {
  POLYMARKET_URL: ['http://127.0.0.1:8095', 'Where it listens. Change it for bots on other machines.'],
  POLYMARKET_EXCHANGE_URL: ['http://127.0.0.1:8080', 'The exchange. Set it when that listens elsewhere.'],
  POLYMARKET_ADMIN_URL: ['', "The exchange's address for administrators. Set it where the exchange has ADMIN_PORT."],
  ADMIN_TOKEN: ['', 'That of the exchange, which makes the API keys of accounts. It has to be set.'],
  POLYMARKET_FILE: ['data/live/polymarket.db', 'Accounts, keys and orders. Set it when data lies elsewhere.'],
  POLYMARKET_MONEY: [
    'play',
    'play: opens an account for every wallet that signs in, and gives it USDC. Set it to own where bots trade with ' +
      'money that accounts have: their owners make the key of this program a delegate.',
  ],
  POLYMARKET_PLAY_USDC: ['10000', 'USDC of a new account. Change it to what your bot has.'],
  POLYMARKET_ORDER_VERSION: [
    '2',
    'The struct of orders that clients are to sign. Set it to 1 for the older clients alone.',
  ],
  POLYMARKET_CHAIN_ID: ['137', 'The chain for which clients sign: 137 or 80002. Set it to what your bot says.'],
  POLYMARKET_FAULTS: [
    '',
    'on: faults on request. By default on with play money on loopback. Set it to off if bots share it.',
  ],
  POLYMARKET_MOST_ACCOUNTS: ['1000', 'Accounts that it opens. Raise it when more bots come.'],
  POLYMARKET_REQUESTS_PER_SECOND: ['200', 'Of one address; more are 429. Raise it for many bots on one machine.'],
} as const satisfies Readonly<Record<string, readonly [string, string]>>;

type SettingName = keyof typeof POLYMARKET_SETTINGS;
const MOST_USDC = 1_000_000_000;

export type PolymarketSettings = {
  /** Where it listens. */
  readonly url: URL;
  readonly exchangeUrl: URL;
  readonly adminUrl: URL;
  readonly adminToken: string;
  readonly file: string;
  /** True: it opens an account for every wallet that signs in, with USDC. False: only for accounts that there are. */
  readonly isPlay: boolean;
  readonly playMicro: bigint;
  /** The struct that clients which ask are to sign. */
  readonly orderVersion: 1 | 2;
  /** The chain for which their clients sign. Nothing here reads or writes that chain. */
  readonly chainId: number;
  readonly hasFaults: boolean;
  readonly mostAccounts: number;
  /** Of one address. */
  readonly requestsPerSecond: number;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** @returns the settings, or a text that says why they are refused, without any of their values. */
export function readPolymarketSettings(env: Environment): PolymarketSettings | string {
  const text = (name: SettingName, otherwise: string = POLYMARKET_SETTINGS[name][0]): string =>
    (env[name] ?? '').trim() || otherwise;
  const url = originOf(text('POLYMARKET_URL'));
  if (url?.protocol !== 'http:') return 'POLYMARKET_URL: expected the address where it listens, with http';
  const exchangeUrl = originOf(text('POLYMARKET_EXCHANGE_URL'));
  if (exchangeUrl === null) return 'POLYMARKET_EXCHANGE_URL: expected the address of the exchange';
  const adminUrl = originOf(text('POLYMARKET_ADMIN_URL', exchangeUrl.origin));
  if (adminUrl === null) return 'POLYMARKET_ADMIN_URL: expected the address for administrators of the exchange';
  const adminToken = text('ADMIN_TOKEN');
  if (adminToken === '') return 'ADMIN_TOKEN: expected that of the exchange, which makes the keys of accounts';
  const money = text('POLYMARKET_MONEY');
  if (money !== 'play' && money !== 'own') return 'POLYMARKET_MONEY: expected play or own';
  const isPlay = money === 'play';
  const version = text('POLYMARKET_ORDER_VERSION');
  if (version !== '1' && version !== '2') return 'POLYMARKET_ORDER_VERSION: expected 1 or 2';
  const faults = text('POLYMARKET_FAULTS', isPlay && isLoopback(url) ? 'on' : 'off');
  if (faults !== 'on' && faults !== 'off') return 'POLYMARKET_FAULTS: expected on or off';
  if (faults === 'on' && !isPlay) return 'POLYMARKET_FAULTS: faults are rehearsed with play money only';
  if (faults === 'on' && !isLoopback(url)) return 'POLYMARKET_FAULTS: only where POLYMARKET_URL is on loopback';
  const counts = {
    POLYMARKET_PLAY_USDC: count(text('POLYMARKET_PLAY_USDC'), MOST_USDC),
    POLYMARKET_CHAIN_ID: count(text('POLYMARKET_CHAIN_ID'), Number.MAX_SAFE_INTEGER),
    POLYMARKET_MOST_ACCOUNTS: count(text('POLYMARKET_MOST_ACCOUNTS'), 1_000_000),
    POLYMARKET_REQUESTS_PER_SECOND: count(text('POLYMARKET_REQUESTS_PER_SECOND'), 100_000),
  };
  for (const [name, value] of Object.entries(counts)) if (value === 0) return `${name}: expected a count`;
  return {
    ...{ url, exchangeUrl, adminUrl, adminToken, isPlay },
    file: text('POLYMARKET_FILE'),
    playMicro: BigInt(counts.POLYMARKET_PLAY_USDC) * 1_000_000n,
    orderVersion: version === '1' ? 1 : 2,
    chainId: counts.POLYMARKET_CHAIN_ID,
    hasFaults: faults === 'on',
    mostAccounts: counts.POLYMARKET_MOST_ACCOUNTS,
    requestsPerSecond: counts.POLYMARKET_REQUESTS_PER_SECOND,
  };
}

/** 0 for what is no count from 1 to the most. */
function count(text: string, most: number): number {
  return /^[1-9][0-9]{0,15}$/.test(text) && Number(text) <= most ? Number(text) : 0;
}

function isLoopback(url: URL): boolean {
  return /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])$/.test(url.hostname);
}

function originOf(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' ? url : null;
}
