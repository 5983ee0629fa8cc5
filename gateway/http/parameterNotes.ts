/** The sentences about parameters that mean the same in many routes; those of one route are in its schemas. */

const NOTES: Readonly<Record<string, string>> = {
  limit: 'So many rows at most.',
  cursor: 'The `next_cursor` of the page before.',
  market_id: 'The market.',
  marketId: 'The market.',
  hash: 'The EIP-712 hash of the order.',
  slug: 'The slug of the event, which is part of its address.',
  name: 'The name of the group.',
  provider: 'The name of the provider.',
  key_id: 'The API key.',
  address: 'The wallet.',
  maker: 'The wallet that has the delegate.',
  signer: 'The delegate.',
  from: 'The wallet that has signed the authorization.',
  nonce: 'The nonce of the authorization.',
};
/** The things whose `:id` is in a path, by the segment before it. */
const THINGS: Readonly<Record<string, string>> = {
  markets: 'market',
  'event-sets': 'event',
  events: 'event',
  users: 'account',
  sessions: 'session',
  trades: 'trade',
  notifications: 'notification',
  approvals: 'approval',
  operators: 'operator',
};

/** Undefined where the schema of the parameter has to say it. */
export function noteOn(name: string, path: string): string | undefined {
  if (name !== 'id') return NOTES[name];
  const before = path.split('/:id')[0].split('/').at(-1)!;
  if (before === 'by-client-id') return 'The `client_order_id`, percent-encoded.';
  const thing = THINGS[before];
  return thing === undefined ? undefined : `The ${thing}.`;
}
