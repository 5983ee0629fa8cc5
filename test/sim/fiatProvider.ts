/**
 * The provider of the fiat model: the real desk, settling, events and interface of the sandbox provider, spoken with
 * through the real adapter. It can be started again at any moment.
 */
import type { FiatProvider } from '../../gateway/fiat/provider.ts';
import { openSandbox } from '../../gateway/fiat/sandbox.ts';
import { ProviderDown } from '../../gateway/http/providerCalls.ts';
import { Desk } from '../../gateway/programs/ramp/desk.ts';
import { Hooks, type SentHook } from '../../gateway/programs/ramp/hooks.ts';
import { PartnerApi } from '../../gateway/programs/ramp/partnerApi.ts';
import type { OwnTransfer, RampRail } from '../../gateway/programs/ramp/rail.ts';
import { Settling } from '../../gateway/programs/ramp/settling.ts';
import { RampStore } from '../../gateway/programs/ramp/store.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { privateKeyBytes, signDigest } from '../../shared/client/privateKey.ts';
import { type TransferAuthorization, transferDigest } from '../../shared/crypto/eip3009.ts';
import type { Random } from '../support/random.ts';
import type { ModelExchange } from './fiatExchange.ts';
import { type Gates, Life } from './fiatGates.ts';
import { KEYS, PROVIDER, type WorldRail } from './fiatRail.ts';

const [API_KEY, SECRET] = ['the-key', 'the-secret'];

type ProviderOptions = {
  readonly exchange: () => ModelExchange;
  readonly rail: WorldRail;
  readonly clock: Clock;
  readonly gates: Gates;
  readonly random: Random;
};

export class ModelProvider {
  readonly #options: ProviderOptions;
  readonly store = new RampStore(':memory:');
  readonly adapter: FiatProvider;
  #life = new Life();
  desk!: Desk;
  #settling!: Settling;
  #hooks!: Hooks;
  #api!: PartnerApi;

  constructor(options: ProviderOptions) {
    this.#options = options;
    const settings = { API_KEY, WEBHOOK_SECRETS: SECRET, ADDRESS: PROVIDER };
    const adapter = openSandbox(settings, { send: (url, sent) => this.#answer(new URL(url), sent) });
    if (typeof adapter === 'string') throw new Error(adapter);
    this.adapter = adapter;
    this.start();
  }

  start(): void {
    this.#life.end();
    const life = new Life();
    this.#life = life;
    const { clock, random } = this.#options;
    const randomHex = (bytes: number) => Array.from({ length: bytes }, () => hexOf(random.below(256))).join('');
    this.desk = new Desk({ store: this.store, rail: this.#rail(life), clock, randomHex });
    this.#settling = new Settling(this.desk);
    this.#hooks = new Hooks(this.desk, SECRET, (hook) => this.#send(life, hook));
    const returnOrigins = ['https://exchange.test'];
    this.#api = new PartnerApi({ desk: this.desk, apiKey: API_KEY, url: new URL('http://ramp'), returnOrigins });
  }

  tick(): void {
    void this.#settling.tick().catch(() => {});
    void this.#hooks.tick().catch(() => {});
  }

  async #answer(url: URL, { method, headers, body }: { method?: string; headers?: unknown; body?: unknown }) {
    const asked = {
      method: method!,
      path: url.pathname,
      query: url.searchParams,
      headers: headers as Record<string, string>,
      body: String(body ?? ''),
    };
    const reply = this.#api.answer(asked);
    // A caller gives up a provider that hangs.
    if (reply === null || reply.status >= 500) throw new ProviderDown('no answer');
    return new Response(reply.body, { status: reply.status });
  }

  async #send(life: Life, { headers, body }: SentHook): Promise<boolean> {
    const { gates, exchange, clock } = this.#options;
    return gates.callTo(
      life,
      () => exchange().life,
      async () => {
        const { webhooks } = exchange();
        const bytes = Buffer.from(body);
        const event = this.adapter.verifyWebhook(headers, bytes, clock.nowMs());
        if (event === null || event.partnerReference === null || webhooks.isFull) return false;
        const { eventId, partnerReference } = event;
        webhooks.add({ provider: this.adapter.name, eventId, partnerReference }, bytes, clock.nowMs());
        await webhooks.durable();
        return true;
      },
    );
  }

  /** The rail as it is reached from here. */
  #rail(life: Life): RampRail {
    const { gates, rail } = this.#options;
    const call = <T>(work: () => T | Promise<T>): Promise<T> => gates.callTo(life, rail.node, async () => work());
    const whole = (transfer: OwnTransfer): TransferAuthorization => ({ ...transfer, from: PROVIDER, validAfterSec: 0 });
    return {
      address: PROVIDER,
      balanceMicro: () => call(() => rail.balanceMicro(PROVIDER)),
      moment: () => call(() => rail.moment()),
      sign: (transfer) => call(async () => signed(KEYS[2]!, transferDigest(await rail.domain(), whole(transfer)))),
      send: (transfer, signature) => call(() => rail.send('transfer', whole(transfer), signature)),
      stateOf: (nonce) => call(() => rail.authorization(PROVIDER, nonce)),
      arrivals: (cursor) => call(() => rail.arrivals(cursor)),
    };
  }
}

export function signed(key: string, digest: string): string {
  return signDigest(Buffer.from(digest.slice(2), 'hex'), privateKeyBytes(key));
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}
