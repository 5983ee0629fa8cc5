/**
 * The wallets that sign in or agree to changes, and what they are asked to sign.
 *
 * Invariants:
 *   SIGNINWALLET-1  A wallet signs only a message of EIP-4361 that names its own address and a domain that the caller
 *                   expects: an exchange cannot obtain a signature on a message for a different exchange.
 */
import { memberOf } from '../base/memberOf.ts';

export type TextWallet = { readonly address: string; signMessage(text: string): Promise<string> };

/** An account of viem, which takes the text as a member. */
type ViemAccount = {
  readonly type: 'local' | 'smart';
  readonly address: string;
  signMessage(parameters: { message: string }): Promise<string>;
};

/** A text is a private key. */
export type SignInWallet = string | TextWallet | ViemAccount;

const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** The code of private keys is loaded for those who have one: a page's wallets sign by themselves. */
export async function textWalletOf(wallet: SignInWallet): Promise<TextWallet> {
  if (typeof wallet === 'string') {
    const { addressOf, signText } = await import('./privateKey.ts');
    return { address: addressOf(wallet), signMessage: async (text) => signText(text, wallet) };
  }
  const { address } = wallet;
  if (isViemAccount(wallet)) return { address, signMessage: (message) => wallet.signMessage({ message }) };
  return { address, signMessage: (text) => wallet.signMessage(text) };
}

function isViemAccount(wallet: TextWallet | ViemAccount): wallet is ViemAccount {
  return 'type' in wallet && (wallet.type === 'local' || wallet.type === 'smart');
}

/** Those of the exchange, of the page that runs this, and the one that its caller expects besides. */
export function expectedDomains(origin: string, domain: string | undefined): string[] {
  const page = memberOf(memberOf(globalThis, 'location'), 'host');
  return [new URL(origin).host, page, domain].filter((name): name is string => typeof name === 'string' && name !== '');
}

/** SIGNINWALLET-1. Throws unless the message is for this wallet and one of the domains. */
export function checkMessage(message: string, address: string, domains: readonly string[]): void {
  const [first, second] = message.split('\n');
  const domain = /^(\S+) wants you to sign in with your Ethereum account:$/.exec(first)?.[1];
  if (domain === undefined || second?.toLowerCase() !== address.toLowerCase()) {
    throw new Error('the exchange offers a message that is not for this wallet');
  }
  if (!domains.some((expected) => commonName(expected) === commonName(domain))) {
    throw new Error(`the exchange offers a message for ${domain}, not for ${domains.join(' or ')}`);
  }
}

/** The names of loopback are one. */
function commonName(domain: string): string {
  const { hostname, port } = new URL(`http://${domain}`);
  return `${LOOPBACK_NAMES.includes(hostname) ? LOOPBACK_NAMES[0] : hostname}:${port}`;
}
