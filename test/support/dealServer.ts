/** The sandbox provider as an exchange sees it over HTTP: launches, deals that the test writes, and signed events. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signHook } from '../../shared/crypto/hookSignature.ts';
import type { Answer, Json, Scope, TestServer } from './server.ts';

export const SECRET = 'a-secret-of-the-webhooks-of-the-tests';

export class DealServer {
  /** The launches that it has received, and the deals that it answers, by reference. */
  readonly launches: Json[] = [];
  readonly deals = new Map<string, Json[]>();
  /** Address of its wallet, in lower case. */
  readonly address: string;
  isDown = false;
  /** The field for which it refuses launches. */
  refusing: string | null = null;
  readonly #http = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      if (this.isDown) {
        response.writeHead(500).end();
        return;
      }
      const url = new URL(request.url!, 'http://provider');
      const isLaunch = request.method === 'POST';
      if (isLaunch && this.refusing !== null) {
        response.writeHead(400).end(JSON.stringify({ error: 'its own words', field: this.refusing }));
        return;
      }
      response.end(JSON.stringify(isLaunch ? this.#launch(Buffer.concat(chunks)) : this.#list(url)));
    });
  });
  #events = 0;

  private constructor(address: string) {
    this.address = address;
  }

  static async start(scope: Scope, address: string): Promise<DealServer> {
    const provider = new DealServer(address);
    const http = provider.#http;
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    scope.after(() => {
      http.close();
      http.closeAllConnections();
    });
    return provider;
  }

  /** Environment of an exchange that has this provider. */
  get environment(): Record<string, string> {
    return {
      FIAT_PROVIDERS: 'sandbox',
      FIAT_SANDBOX_URL: `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`,
      FIAT_SANDBOX_API_KEY: 'an-api-key-of-the-provider-of-the-tests',
      FIAT_SANDBOX_WEBHOOK_SECRETS: SECRET,
      FIAT_SANDBOX_ADDRESS: this.address,
    };
  }

  /** It has a transaction of the session, and says so by an event. */
  async provide(server: TestServer, reference: string, wallet: string, row: Json): Promise<void> {
    const times = { created_at_ms: Date.now(), updated_at_ms: Date.now(), deadline_at_ms: Date.now() + 1_800_000 };
    const amount = { value: '25', currency: 'USDC' };
    const addresses = { to_address: this.address, from_address: wallet, tx_hash: null };
    const terms = { asset: 'usdc', network: 'polygon', amount, ...addresses };
    this.deals.set(reference, [{ id: `deal-${reference}`, reference, status: 'created', ...terms, ...times, ...row }]);
    assert.equal((await this.sendEvent(server, reference)).status, 200);
  }

  sendEvent(server: TestServer, reference: string, secret = SECRET, eventId = ++this.#events): Promise<Answer> {
    const body = JSON.stringify({ event_id: String(eventId).padStart(32, '0'), reference });
    const type = { 'content-type': 'application/json' };
    const signature = signHook(secret, type, Buffer.from(body), Date.now());
    return server.request('POST', '/v1/fiat/webhooks/sandbox', body, { ...type, 'x-hook0-signature': signature });
  }

  #launch(body: Buffer): object {
    this.launches.push(JSON.parse(body.toString()));
    const launch_url = `http://127.0.0.1/pay?token=once-${this.launches.length}`;
    return { launch_url, expires_at_ms: Date.now() + 300_000 };
  }

  #list(url: URL): object {
    return { deals: this.deals.get(url.searchParams.get('reference')!) ?? [], next_before: null };
  }
}
