/** Makes markets as an operator does, and reads them. */
import assert from 'node:assert/strict';
import type { Market } from '../../shared/client/types.ts';
import type { Json, startServer } from './server.ts';

type TestServer = Awaited<ReturnType<typeof startServer>>;

export const FAR = '2099-01-01T00:00:00.000Z';

/** The least a market needs, with a category of its own so that a test lists only its own markets. */
export function fields(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { title: 'Will it rain?', description: 'Yes if it does.', category: 'Weather', trading_ends_at: FAR, ...more };
}

/** The requests of an operator, and of anyone, about the catalogue of a server. */
export function catalogueOf(server: TestServer) {
  async function create(more: Record<string, unknown> = {}): Promise<Market> {
    const { status, body } = await server.adminRequest('POST', '/admin/markets', fields(more));
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }

  async function refusal(method: string, path: string, body?: unknown): Promise<[number, string, string]> {
    const answer = await server.adminRequest(method, path, body);
    return [answer.status, answer.body.code, answer.body.error];
  }

  async function get(path: string): Promise<Json> {
    const { status, body } = await server.request('GET', path);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  return { create, refusal, get };
}

export function titles(markets: Json[]): string[] {
  return markets.map(({ title }) => title);
}
