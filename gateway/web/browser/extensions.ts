/**
 * The wallets that extensions put into the browser (EIP-1193): each that announces itself (EIP-6963), with its name and
 * icon, and those that are found as `window.ethereum` alone. Errors of theirs are said in words.
 */
import { useEffect, useState } from 'preact/hooks';
import { memberOf } from '../../../shared/base/memberOf.ts';
import { NETWORKS } from './networks.ts';

type Call = { readonly method: string; readonly params?: readonly unknown[] };
type Provider = { request(call: Call): Promise<unknown> };

export type Extension = {
  /** The same after a reload: the announced name of the vendor's domain, or where the wallet was found. */
  readonly id: string;
  readonly name: string;
  /** An image in the text of its address; null if none was announced. */
  readonly icon: string | null;
  readonly provider: Provider;
};

type Announced = { readonly info?: Partial<Record<'rdns' | 'name' | 'icon', unknown>>; readonly provider?: Provider };
type Flag = (typeof FLAGS)[number][0];
/** Wallets that do not announce themselves say by a flag who they are. */
type Silent = Provider & { readonly [flag in Flag]?: unknown };
type Injected = Silent & { readonly providers?: readonly Silent[] };
declare global {
  interface Window {
    readonly ethereum?: Injected;
  }
}

const ANNOUNCED = 'eip6963:announceProvider';
const MOST_NAME = 40;
/** A name is text of another program: no signs that hide or turn what stands beside it. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const IMAGE = /^data:image\/(?:png|webp|svg\+xml|jpeg|gif)[;,]/;
const WAIT_MS = 1000;
/** Codes of EIP-1193, EIP-1474 and the wallets that know no chain. */
const WORDS: Readonly<Record<number, string>> = {
  4001: 'You refused it in the wallet. Nothing was sent.',
  4100: 'The wallet does not show this page the account. Connect it in the wallet, and try again.',
  4900: 'The wallet is not connected to its network.',
  4901: 'The wallet is not connected to this network.',
  [-32002]: 'The wallet still waits for an answer to an earlier question. Open it.',
};
const UNKNOWN_CHAIN = 4902;
const REFUSED = 4001;
/** Others say that they are MetaMask besides, so that pages of its time accept them: it is the last. */
const FLAGS = [
  ['isRabby', 'Rabby'],
  ['isBraveWallet', 'Brave Wallet'],
  ['isCoinbaseWallet', 'Coinbase Wallet'],
  ['isTrust', 'Trust Wallet'],
  ['isMetaMask', 'MetaMask'],
] as const;

const announced = new Map<string, Extension>();
const listeners = new Set<() => void>();

addEventListener(ANNOUNCED, (event) => {
  const detail: Announced | null | undefined = event instanceof CustomEvent ? event.detail : null;
  const { info = {}, provider } = detail ?? {};
  if (typeof provider?.request !== 'function' || typeof info.rdns !== 'string') return;
  const name = typeof info.name === 'string' ? info.name.replace(UNSEEN, '').slice(0, MOST_NAME).trim() : '';
  const icon = typeof info.icon === 'string' && IMAGE.test(info.icon) ? info.icon : null;
  announced.set(info.rdns, { id: info.rdns, name: name === '' ? info.rdns : name, icon, provider });
  for (const listener of listeners) listener();
});
dispatchEvent(new Event('eip6963:requestProvider'));

/** Announced wallets first; `window.ethereum` and its `providers` only if they did not announce themselves. */
function extensions(): readonly Extension[] {
  const known = [...announced.values()];
  const { ethereum } = window;
  const several = new Set(ethereum?.providers ?? []);
  const found = several.size > 0 || ethereum === undefined ? [...several] : [ethereum];
  // Numbered before the announced ones are left out: one that announces itself late changes the id of no other.
  const silent = found
    .map((provider, index) => ({ id: `injected-${index}`, icon: null, provider }))
    .filter(({ provider }) => !known.some((extension) => extension.provider === provider));
  return [
    ...known,
    ...silent.map((each, index) => {
      const flag = FLAGS.find(([name]) => each.provider[name] === true)?.[1];
      return { ...each, name: flag ?? (silent.length === 1 ? 'a wallet' : `wallet ${index + 1}`) };
    }),
  ];
}

/** The list as it is now, also after wallets have announced themselves late. */
export function useExtensions(): readonly Extension[] {
  const [, setRound] = useState(0);
  useEffect(() => {
    const listener = (): void => setRound((round) => round + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return extensions();
}

/** Waits a moment for a wallet that announces itself after the page. */
export async function extensionOf(id: string | undefined): Promise<Extension | undefined> {
  const untilMs = performance.now() + WAIT_MS;
  for (;;) {
    const found = extensions().find((extension) => id === undefined || extension.id === id);
    if (found !== undefined || performance.now() >= untilMs) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Rejects with words for the codes that wallets answer with. */
export async function requestOf({ provider }: Extension, method: string, params: readonly unknown[]): Promise<unknown> {
  try {
    return await provider.request({ method, params });
  } catch (error) {
    throw inWords(error);
  }
}

/** Returns the account that the wallet shows first. It asks its person where that is needed. */
export async function accountOf(extension: Extension): Promise<string> {
  const accounts = await requestOf(extension, 'eth_requestAccounts', []);
  const account: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  if (typeof account === 'string') return account;
  throw new Error('The wallet is locked or shows no account. Unlock it, and try again.');
}

/** Rejects if the wallet is locked or shows other accounts; a wallet that does not say so is asked to sign. */
export async function assertShown(extension: Extension, address: string): Promise<void> {
  const accounts = await extension.provider.request({ method: 'eth_accounts' }).catch(() => null);
  if (!Array.isArray(accounts)) return;
  if (accounts.length === 0) throw new Error('The wallet is locked. Unlock it, and try again.');
  if (accounts.some((each) => String(each).toLowerCase() === address)) return;
  throw new Error(`The wallet shows ${accounts[0]}, and you signed in with ${address}. Choose that account in it.`);
}

/**
 * Most wallets sign only for the network that they show; wallets without networks sign in any case. One that does not
 * know the network is asked to add it, where the page knows what it needs for that.
 */
export async function showNetwork(extension: Extension, chainId: number): Promise<void> {
  const { provider } = extension;
  const wanted = `0x${chainId.toString(16)}`;
  if ((await provider.request({ method: 'eth_chainId' }).catch(() => wanted)) === wanted) return;
  const turn = async (otherwise: () => Promise<void>): Promise<void> => {
    try {
      await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: wanted }] });
    } catch (error) {
      const code = codeOf(error);
      if (code === UNKNOWN_CHAIN) await otherwise();
      else if (WORDS[code] !== undefined) throw inWords(error);
    }
  };
  await turn(async () => {
    await addNetwork(extension, chainId);
    // Some wallets add a network and go on showing the other one.
    await turn(() => Promise.reject(notKnown(chainId)));
  });
}

/** Rejects with what its person has to add, if the wallet adds no networks or the page does not know this one. */
async function addNetwork({ provider }: Extension, chainId: number): Promise<void> {
  const network = NETWORKS.get(chainId);
  if (network === undefined) throw notKnown(chainId);
  const params = [{ chainId: `0x${chainId.toString(16)}`, ...network }];
  try {
    await provider.request({ method: 'wallet_addEthereumChain', params });
  } catch (error) {
    throw codeOf(error) === REFUSED ? inWords(error) : notKnown(chainId);
  }
}

function notKnown(chainId: number): Error {
  const { chainName = null } = NETWORKS.get(chainId) ?? {};
  const network = chainName === null ? 'the network' : `the network ${chainName}`;
  return new Error(`The wallet does not know ${network} with chain id ${chainId}. Add it in the wallet first.`);
}

function inWords(error: unknown): Error {
  const message = memberOf(error, 'message');
  return new Error(WORDS[codeOf(error)] ?? (typeof message === 'string' ? message : 'The wallet gave no answer.'));
}

/** Some wallets wrap the error of the program behind them. */
function codeOf(error: unknown): number {
  const inner = memberOf(memberOf(error, 'data'), 'originalError');
  return Number(memberOf(inner, 'code') ?? memberOf(error, 'code'));
}
