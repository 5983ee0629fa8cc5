/** The part of the client for the wallets of an account, which sign each change (RULES.md 15.40 to 15.45). */
import type { AccountRequests } from './accountRequests.ts';
import { withQuery } from './request.ts';
import { checkMessage, expectedDomains, type SignInWallet, type TextWallet, textWalletOf } from './signInWallet.ts';
import type {
  NonceFloor,
  Profile,
  RaisedNonceFloor,
  Restricted,
  StepUp,
  WalletDelegates,
  WalletMessage,
} from './types.ts';

type Requests = Pick<AccountRequests, 'origin' | 'send'>;
type Signed = { readonly message: string; readonly signature: string };

export class WalletsClient {
  readonly #requests: Requests;
  readonly #domains: readonly string[];

  constructor(requests: Requests, domain: string | undefined) {
    this.#requests = requests;
    this.#domains = expectedDomains(requests.origin, domain);
  }

  /** A session whose person was proved more than ten minutes ago needs `stepUp` first. */
  async link(wallet: SignInWallet): Promise<Profile> {
    const signer = await textWalletOf(wallet);
    const signed = await this.#sign(signer, withQuery('/v1/wallets/link/nonce', { address: signer.address }));
    return this.#requests.send('POST', '/v1/wallets/link', signed);
  }

  /** The open orders of the wallet and its delegates are cancelled. Needs a step-up like `link`. */
  unlink(address: string): Promise<Restricted> {
    return this.#requests.send('DELETE', `/v1/wallets/${encodeURIComponent(address)}`);
  }

  delegates(address: string): Promise<WalletDelegates> {
    return this.#requests.send('GET', delegatesPath(address));
  }

  /** Lets the key of `signer` sign orders that the wallet pays for. */
  async addDelegate(wallet: SignInWallet, signer: string): Promise<WalletDelegates> {
    const { address, ...signed } = await this.#signDelegate(wallet, signer, 'add');
    return this.#requests.send('POST', delegatesPath(address), { signer, ...signed });
  }

  /** The open orders that the delegate has signed are cancelled. */
  async removeDelegate(wallet: SignInWallet, signer: string): Promise<Restricted> {
    const { address, ...signed } = await this.#signDelegate(wallet, signer, 'remove');
    return this.#requests.send('DELETE', delegatesPath(address), { signer, ...signed });
  }

  /** The least nonce that an order of the wallet may have; `place` signs it unless another is given. */
  nonceFloor(address: string): Promise<NonceFloor> {
    return this.#requests.send('GET', floorPath(address));
  }

  /** Makes every order worthless that the wallet and its delegates have signed with a lower nonce, for ever. */
  raiseNonceFloor(address: string, floor: number): Promise<RaisedNonceFloor> {
    return this.#requests.send('POST', floorPath(address), { nonce_floor: floor });
  }

  /** Cancels what the wallet has signed with the floor of now as nonce, sent or not: without counting, everything. */
  async cancelEverSigned(address: string): Promise<RaisedNonceFloor> {
    const { nonce_floor } = await this.nonceFloor(address);
    return this.raiseNonceFloor(address, nonce_floor + 1);
  }

  /** Proves that the person of the session is there, with a wallet of the account. */
  async stepUp(wallet: SignInWallet): Promise<StepUp> {
    const signer = await textWalletOf(wallet);
    const signed = await this.#sign(signer, withQuery('/v1/auth/step-up/nonce', { address: signer.address }));
    return this.#requests.send('POST', '/v1/auth/step-up', signed);
  }

  async #signDelegate(wallet: SignInWallet, signer: string, act: string): Promise<Signed & { address: string }> {
    const owner = await textWalletOf(wallet);
    const path = withQuery(`${delegatesPath(owner.address)}/nonce`, { signer, act });
    return { address: owner.address, ...(await this.#sign(owner, path)) };
  }

  async #sign(wallet: TextWallet, path: string): Promise<Signed> {
    const { message } = await this.#requests.send<WalletMessage>('GET', path);
    checkMessage(message, wallet.address, this.#domains);
    return { message, signature: await wallet.signMessage(message) };
  }
}

function floorPath(address: string): string {
  return `/v1/wallets/${encodeURIComponent(address)}/nonce-floor`;
}

function delegatesPath(address: string): string {
  return `/v1/wallets/${encodeURIComponent(address)}/delegates`;
}
