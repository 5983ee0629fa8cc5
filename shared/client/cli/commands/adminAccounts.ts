/** Operators' commands for accounts: people, their wallets, their state and their money. */
import type { Profile } from '../../types.ts';
import { ACCOUNT_WORDS } from '../frame/accountNames.ts';
import { command, type OptionSpecs, type Result } from '../frame/command.ts';
import { numberOf, unitsOf } from '../frame/orderForm.ts';
import { nextLine, PAGE_OPTIONS } from '../frame/pages.ts';
import { columns, decimal, facts } from '../frame/text.ts';

const USER = { user: { description: ACCOUNT_WORDS } } as const;
const MONEY = { ...USER, amount: { description: 'in USDC: 100.50' } } as const;
const REFERENCE = {
  reference: { value: 'text', description: 'unique: a repeat with the same one moves nothing twice' },
} as const satisfies OptionSpecs;

export const ADMIN_ACCOUNTS = [
  command({
    name: 'admin accounts list',
    summary: 'List accounts, the oldest first',
    options: PAGE_OPTIONS,
    examples: ['admin accounts list --limit 100'],
    json: 'the answer of GET /admin/users',
    run: async (context, { limit, cursor }) => {
      const answer = await context.admin().listUsers({
        ...(limit === undefined ? {} : { limit: numberOf('limit', limit) }),
        ...(cursor === undefined ? {} : { cursor: numberOf('cursor', cursor) }),
      });
      const rows = answer.users.map((user) => [user.id, user.state, user.role, user.display_name, user.wallet_address]);
      const lines = columns(['account', 'state', 'role', 'name', 'wallet'], rows, 'no accounts');
      return { value: answer, lines: [...lines, ...nextLine(answer.next_cursor)] };
    },
  }),
  command({
    name: 'admin accounts create',
    summary: 'Make an account',
    options: {
      wallet: { value: 'address', description: 'its first wallet' },
      name: { value: 'text', description: 'the name that is shown' },
      email: { value: 'address', description: 'its address' },
      role: { value: 'name', description: 'user unless given' },
    },
    examples: ['admin accounts create --wallet 0x… --name Ada'],
    json: 'the answer of POST /admin/users',
    run: async (context, { wallet, name, email, role }) => {
      const fields = {
        ...(wallet === undefined ? {} : { wallet_address: wallet }),
        ...(name === undefined ? {} : { display_name: name }),
        ...(email === undefined ? {} : { email }),
        ...(role === undefined ? {} : { role }),
      };
      return profileResult(await context.admin().createUser(fields));
    },
  }),
  command({
    name: 'admin accounts state',
    summary: 'Let an account trade, only reduce its positions, or freeze it',
    details: 'Open orders that the state forbids are cancelled.',
    arguments: { ...USER, state: { description: 'the state', choices: ['active', 'close_only', 'frozen'] } },
    examples: ['admin accounts state 0190a0b0-… frozen'],
    json: 'the answer of PUT /admin/users/{id}/state',
    run: async (context, { user, state }) => {
      const answer = await context.admin().setAccountState(await context.operated.accountId(user), state);
      return { value: answer, lines: [`${answer.id} is ${answer.state}; ${answer.orders_cancelled} orders cancelled`] };
    },
  }),
  command({
    name: 'admin accounts wallet',
    summary: 'Add a wallet to an account',
    arguments: { ...USER, address: { description: 'the address of the wallet' } },
    examples: ['admin accounts wallet 0190a0b0-… 0x…'],
    json: 'the answer of POST /admin/users/{id}/wallets',
    run: async (context, { user, address }) =>
      profileResult(await context.admin().addWallet(await context.operated.accountId(user), address)),
  }),
  command({
    name: 'admin accounts end-sessions',
    summary: 'End all sessions of an account',
    arguments: USER,
    examples: ['admin accounts end-sessions 0190a0b0-…'],
    json: 'the answer of DELETE /admin/users/{id}/sessions',
    run: async (context, { user }) => {
      const answer = await context.admin().endSessions(await context.operated.accountId(user));
      return { value: answer, lines: [`sessions ended: ${answer.revoked}`] };
    },
  }),
  ...(['deposit', 'withdraw'] as const).map((name) =>
    command({
      name: `admin ${name}`,
      summary: name === 'deposit' ? 'Credit USDC to an account' : 'Debit USDC from an account',
      details:
        name === 'deposit'
          ? 'Give a --reference: then the same command may be repeated safely.'
          : 'Large amounts need a second operator: the exit code is 1 then, and the id of the approval is printed.',
      arguments: MONEY,
      options: REFERENCE,
      examples: [`admin ${name} 0190a0b0-… 100 --reference "wire 17"`],
      json: `the answer of POST /admin/users/{id}/${name === 'deposit' ? 'deposits' : 'withdrawals'}`,
      run: async (context, { user, amount, reference }) => {
        const movement = {
          amount_usdc_micro: unitsOf('amount', amount),
          ...(reference === undefined ? {} : { reference }),
        };
        const answer = await context.admin()[name](await context.operated.accountId(user), movement);
        const lines = facts([
          [answer.type, `${decimal(answer.amount_usdc_micro)} USDC`],
          ['status', answer.status],
          ['reference', answer.reference],
          ['id', answer.id],
        ]);
        return { value: answer, lines };
      },
    }),
  ),
];

function profileResult(profile: Profile): Result {
  const lines = facts([
    ['account', profile.id],
    ['name', profile.display_name],
    ['state', profile.state],
    ...profile.linked_wallets.map((wallet): [string, string] => ['wallet', wallet]),
  ]);
  return { value: profile, lines };
}
