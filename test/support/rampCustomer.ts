/** A person at the pages of the sandbox provider, with a cookie as a browser has it. */
import assert from 'node:assert/strict';

export class RampCustomer {
  readonly #origin: string;
  readonly #cookies = new Map<string, string>();

  constructor(launchUrl: string) {
    this.#origin = new URL(launchUrl).origin;
  }

  /** Opens the launch URL. @returns the page that it leads to */
  async open(launchUrl: string): Promise<string> {
    const launch = await this.#send(launchUrl, { method: 'GET' });
    const target = launch.headers.get('location');
    assert.ok(target !== null, `the launch URL was answered ${launch.status}`);
    return (await this.#send(new URL(target, this.#origin).href, { method: 'GET' })).text();
  }

  /** Fills in a form. @returns where it leads to */
  async submit(path: string, fields: Record<string, string>): Promise<string | null> {
    const answer = await this.#send(this.#origin + path, {
      method: 'POST',
      headers: { origin: this.#origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    });
    assert.ok(answer.status < 400, `${path}: ${answer.status} ${await answer.text()}`);
    return answer.headers.get('location');
  }

  async #send(url: string, init: RequestInit & { headers?: Record<string, string> }): Promise<Response> {
    const cookie = [...this.#cookies].map((pair) => pair.join('=')).join('; ');
    const answer = await fetch(url, { ...init, headers: { ...init.headers, cookie }, redirect: 'manual' });
    for (const set of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (name !== undefined) this.#cookies.set(name, value);
    }
    return answer;
  }
}
