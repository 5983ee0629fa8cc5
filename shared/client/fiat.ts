/** The part of the client for cashing in and out (RULES.md 16). */
import type {
  CreatedFiatSession,
  FiatKind,
  FiatSessionPage,
  FiatSessionRecord,
  FiatStatus,
  FiatTransaction,
  FiatTransfer,
  LaunchToken,
} from '../api/fiat.ts';
import type { AccountRequests } from './accountRequests.ts';
import type { TransferWallet } from './fiatSigning.ts';
import { withQuery } from './request.ts';

type Requests = Pick<AccountRequests, 'send'>;
type NewSession = {
  /** By default the provider that the exchange prefers. */
  readonly provider?: string | undefined;
  /** Decimal: of an on-ramp in the currency of the bank, of an off-ramp in USDC. */
  readonly amount?: string | undefined;
  readonly fiat_currency?: string | undefined;
  readonly wallet_address?: string | undefined;
  readonly redirect_path?: string | undefined;
};
type SessionFilter = {
  readonly kind?: FiatKind;
  readonly status?: FiatStatus;
  readonly limit?: number;
  readonly offset?: number;
};

const ROOT = '/v1/user/fiat';
/** A repeat of any of these returns the first answer, or makes another launch URL. */
const HARMLESS = { repeat: 'harmless' } as const;

export class FiatClient {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Newest first. */
  list(filter: SessionFilter = {}): Promise<FiatSessionPage> {
    return this.#requests.send('GET', withQuery(`${ROOT}/sessions`, filter));
  }

  session(id: string): Promise<FiatSessionRecord> {
    return this.#requests.send('GET', `${ROOT}/sessions/${encodeURIComponent(id)}`);
  }

  /** The person continues at `launch_url`, which is secret and can be used once. */
  createOnramp(
    fields: NewSession & { readonly payment_method?: string | undefined } = {},
  ): Promise<CreatedFiatSession> {
    return this.#create('onramp', fields);
  }

  /** The same to cash out; a session whose person was proved more than ten minutes ago needs a step-up first. */
  createOfframp(
    fields: NewSession & { readonly cashout_method?: string | undefined } = {},
  ): Promise<CreatedFiatSession> {
    return this.#create('offramp', fields);
  }

  /** A retry means the same session: all attempts share one key. */
  #create(kind: FiatKind, fields: NewSession): Promise<CreatedFiatSession> {
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    return this.#requests.send('POST', `${ROOT}/${kind}/sessions`, fields, { headers, repeat: 'harmless' });
  }

  /** Reports that the person has returned from the provider. Credits nothing; the rail does. */
  completeOnramp(id: string): Promise<FiatSessionRecord> {
    return this.#requests.send('POST', `${pathOf('onramp', id)}/complete`, {}, HARMLESS);
  }

  launchToken(kind: FiatKind, id: string): Promise<LaunchToken> {
    return this.#requests.send('POST', `${pathOf(kind, id)}/launch-token`, {}, HARMLESS);
  }

  cancel(id: string): Promise<FiatSessionRecord> {
    return this.#requests.send('POST', `${pathOf('offramp', id)}/cancel`, {}, HARMLESS);
  }

  transaction(id: string): Promise<FiatTransaction> {
    return this.#requests.send('GET', `${pathOf('offramp', id)}/transaction`);
  }

  transfer(id: string): Promise<FiatTransfer> {
    return this.#requests.send('GET', `${pathOf('offramp', id)}/transfer`);
  }

  /** @param signature of the wallet over `typed_data` of the transfer. */
  authorize(id: string, intentId: string, signature: string): Promise<FiatTransfer> {
    const body = { intent_id: intentId, signature };
    return this.#requests.send('POST', `${pathOf('offramp', id)}/transfer/authorization`, body, HARMLESS);
  }

  /** Reads the transfer, checks it, and signs it with the wallet that it is from. */
  async signAndAuthorize(id: string, wallet: TransferWallet): Promise<FiatTransfer> {
    const transfer = await this.transfer(id);
    const { signTransfer } = await import('./fiatSigning.ts');
    const signature = await signTransfer(transfer, wallet);
    return this.authorize(id, transfer.intent_id!, signature);
  }

  /** Sends the signed transfer again, where `can_submit` allows it. */
  submit(id: string, intentId: string): Promise<FiatTransfer> {
    return this.#requests.send('POST', `${pathOf('offramp', id)}/transfer/submit`, { intent_id: intentId }, HARMLESS);
  }
}

function pathOf(kind: FiatKind, id: string): string {
  return `${ROOT}/${kind}/sessions/${encodeURIComponent(id)}`;
}
