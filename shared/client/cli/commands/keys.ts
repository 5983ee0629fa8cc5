/** API keys. An operator issues them (RULES.md 4); `limits` and `doctor` show their owner what a key may do. */
import { SCOPE_NAMES, TIER_NAMES, TIER_REQUESTS_PER_SECOND } from '../../../api/accounts.ts';
import type { ExchangeClient } from '../../client.ts';
import { ACCOUNT_WORDS } from '../frame/accountNames.ts';
import { command } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { timeOf } from '../frame/orderForm.ts';
import { columns, facts } from '../frame/text.ts';

const USER = { user: { description: `${ACCOUNT_WORDS}; your own unless given`, optional: true } } as const;

export const KEYS = [
  command({
    name: 'keys create',
    summary: 'Issue an API key; its secret and passphrase are shown this once',
    details: 'Keep them at once: `pmx keys create USER --json | pmx login --key --stdin`.',
    access: 'operator',
    arguments: USER,
    options: {
      scopes: {
        value: 'names',
        description: 'what the key may do; everything unless given',
        choices: SCOPE_NAMES,
        many: true,
      },
      tier: { value: 'name', description: 'its limit', choices: TIER_NAMES, fallback: 'standard' },
      'expires-at': { value: 'time', description: 'until when it is valid' },
      'allow-ip': { value: 'network', description: 'an address or network it may be used from', many: true },
    },
    examples: [
      'keys create 0190a0b0-… --scopes read:account,trade:orders',
      'keys create 0190a0b0-… --tier market_maker --allow-ip 10.0.0.0/8 --json',
    ],
    json: 'the answer of POST /admin/users/{id}/api-keys',
    run: async (context, given) => {
      const ips = given['allow-ip'];
      const expires = given['expires-at'];
      const key = await context.admin().createApiKey(await userOf(context, given.user), {
        scopes: given.scopes.length === 0 ? [...SCOPE_NAMES] : given.scopes,
        tier: given.tier,
        ...(expires === undefined ? {} : { expires_at: timeOf('expires-at', expires) }),
        ...(ips.length === 0 ? {} : { allowed_ips: ips }),
      });
      const lines = facts([
        ['key id', key.key_id],
        ['secret', key.secret],
        ['passphrase', key.passphrase],
        ['scopes', key.scopes.join(' ')],
        ['tier', key.tier],
      ]);
      return { value: key, lines };
    },
  }),
  command({
    name: 'keys list',
    summary: 'List the API keys of an account, the revoked ones too',
    access: 'operator',
    arguments: USER,
    examples: ['keys list', 'keys list 0190a0b0-… --json'],
    json: 'the answer of GET /admin/users/{id}/api-keys',
    run: async (context, given) => {
      const answer = await context.admin().listApiKeys(await userOf(context, given.user));
      const rows = answer.api_keys.map((key) => [
        key.key_id,
        key.revoked_at === null ? 'valid' : 'revoked',
        key.tier,
        key.created_at,
        key.expires_at,
        key.scopes.join(' '),
      ]);
      return { value: answer, lines: columns(['key', 'state', 'tier', 'made', 'expires', 'scopes'], rows, 'no keys') };
    },
  }),
  command({
    name: 'keys revoke',
    summary: 'Revoke an API key at once; sockets opened with it are closed',
    access: 'operator',
    arguments: { key: { description: 'the id of the key' } },
    examples: ['keys revoke key_…'],
    json: 'the answer of DELETE /admin/api-keys/{key_id}',
    run: async (context, { key }) => {
      const answer = await context.admin().revokeApiKey(key);
      return { value: answer, lines: [answer.message] };
    },
  }),
  command({
    name: 'keys rotate',
    summary: 'Give an API key another secret and passphrase; the former ones are void at once',
    access: 'operator',
    arguments: { key: { description: 'the id of the key' } },
    examples: ['keys rotate key_… --json'],
    json: 'the answer of POST /admin/api-keys/{key_id}/rotate',
    run: async (context, { key }) => {
      const answer = await context.admin().rotateApiKey(key);
      const { key_id, secret, passphrase } = answer;
      return {
        value: answer,
        lines: facts([
          ['key id', key_id],
          ['secret', secret],
          ['passphrase', passphrase],
        ]),
      };
    },
  }),
  command({
    name: 'keys tiers',
    summary: 'List the tiers of keys, and their limits',
    access: 'anyone',
    json: '`[{tier, requests_per_second}]`: for each endpoint by itself',
    run: async () => {
      const value = TIER_NAMES.map((tier) => ({ tier, requests_per_second: TIER_REQUESTS_PER_SECOND[tier] }));
      const rows = value.map((row) => [row.tier, row.requests_per_second]);
      return { value, lines: [...columns(['tier', 'requests a second'], rows), 'of each endpoint by itself'] };
    },
  }),
];

async function userOf(context: Context, given: string | undefined): Promise<string> {
  if (given !== undefined) return context.operated.accountId(given);
  const client: ExchangeClient = await context.client();
  return (await client.account.profile()).id;
}
