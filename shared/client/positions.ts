/** The part of the client for what an account's tokens cost, earned and earn (RULES.md 14.20 to 14.25). */
import type { SendAuthorized } from './accountRequests.ts';
import { withQuery } from './request.ts';
import type { Message, Pnl24h, Positions, PositionsQuery } from './types.ts';

export class PositionsClient {
  readonly #send: SendAuthorized;

  constructor(send: SendAuthorized) {
    this.#send = send;
  }

  /** Every position, or a page of `limit` after `cursor`, the id of the last position of the page before. */
  list(query: PositionsQuery = {}): Promise<Positions> {
    return this.#send('GET', withQuery('/v1/user/positions', query));
  }

  /** The gain of the last 24 hours, in total and as a part of what the account had. */
  pnl24h(): Promise<Pnl24h> {
    return this.#send('GET', '/v1/user/portfolio/pnl-24h');
  }

  /** Notes that the positions in a decided market are claimed; no money moves. */
  markClaimed(marketId: string): Promise<Message> {
    return this.#send('POST', `/v1/user/positions/${encodeURIComponent(marketId)}/mark-claimed`);
  }
}
