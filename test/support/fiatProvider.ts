/** A provider of the test: it knows the transactions that the test gives it, and can hang or be down. */

import type {
  FiatKind,
  FiatProvider,
  Launch,
  LaunchRequest,
  ProviderAmount,
  ProviderSettings,
  ProviderStatus,
  ProviderTransaction,
  WebhookEvent,
  WebhookHeaders,
} from '../../gateway/fiat/provider.ts';
import { ProviderDown } from '../../gateway/http/providerCalls.ts';

const LAUNCH_MS = 300_000;

export class FakeFiatProvider implements FiatProvider {
  readonly name: string;
  readonly settings: ProviderSettings;
  ledgerAddress: string | null;
  /** In the order of the requests. */
  readonly launches: LaunchRequest[] = [];
  /** `down` answers an error, `hanging` answers only when the caller gives up. */
  mode: 'up' | 'down' | 'hanging' = 'up';
  polls = 0;
  readonly #rows = new Map<string, ProviderTransaction[]>();

  constructor(name = 'fake', settings: ProviderSettings = {}) {
    this.name = name;
    this.settings = settings;
    this.ledgerAddress = settings['ADDRESS'] ?? null;
  }

  async createLaunch(request: LaunchRequest, signal: AbortSignal): Promise<Launch> {
    await this.#answering(signal);
    this.launches.push(request);
    return { launchUrl: `https://pay.example/${this.launches.length}?token=secret`, expiresAtMs: LAUNCH_MS };
  }

  async listTransactions(partnerReference: string, _kind: FiatKind, signal: AbortSignal) {
    this.polls++;
    await this.#answering(signal);
    return [...(this.#rows.get(partnerReference) ?? [])];
  }

  /** A webhook counts as signed if it has the header x-fake: yes; the body names the event and the reference. */
  verifyWebhook(headers: WebhookHeaders, rawBody: Uint8Array, _nowMs: number): WebhookEvent | null {
    if (headers['x-fake'] !== 'yes') return null;
    const { eventId, partnerReference } = JSON.parse(Buffer.from(rawBody).toString());
    return { eventId, partnerReference };
  }

  /** The provider gets a transaction, or changes one. */
  set(partnerReference: string, row: ProviderTransaction): void {
    const others = this.#rows.get(partnerReference)?.filter(({ transactionId }) => transactionId !== row.transactionId);
    this.#rows.set(partnerReference, [row, ...(others ?? [])]);
  }

  async #answering(signal: AbortSignal): Promise<void> {
    if (this.mode === 'down') throw new ProviderDown('status 500');
    if (this.mode === 'hanging') {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      throw new ProviderDown('AbortError');
    }
  }
}

type RowOptions = Partial<Omit<ProviderTransaction, 'amount' | 'status'>> & {
  readonly status?: ProviderStatus;
  readonly amount?: ProviderAmount | null;
};

export function providerRow(options: RowOptions = {}): ProviderTransaction {
  return {
    transactionId: 'tx-1',
    status: 'created',
    asset: 'usdc',
    network: 'polygon',
    amount: { value: '25', currency: 'USDC' },
    toAddress: null,
    fromAddress: null,
    txHash: null,
    createdAtMs: 1,
    updatedAtMs: 1,
    deadlineMs: null,
    ...options,
  };
}
