/** The wallets of an account and their delegates. The wallet concerned signs each change. */

import type { ExchangeClient } from '../../client.ts';
import { addressOf } from '../../privateKey.ts';
import { command } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { NeedsError } from '../frame/errors.ts';
import { numberOf } from '../frame/orderForm.ts';
import { askHidden, readInput } from '../frame/prompt.ts';
import { columns } from '../frame/text.ts';

const STDIN = { stdin: { description: 'read its private key from standard input instead of asking' } } as const;
const ADDRESS = { address: { description: 'the address of the wallet' } } as const;
const SIGNER = { signer: { description: 'the address that may sign orders which your wallet pays for' } } as const;
const NEW_WALLET = 'LINK_PRIVATE_KEY';

export const WALLETS = [
  command({
    name: 'wallet list',
    summary: 'List the wallets of the account and who may sign for them',
    json: '`[{address, delegates}]`: the answers of GET /v1/wallets/{address}/delegates',
    run: async (context) => {
      const client = await context.client();
      const { linked_wallets } = await client.account.profile();
      const wallets = await Promise.all(linked_wallets.map((address) => client.wallets.delegates(address)));
      const rows = wallets.map(({ address, delegates }) => [address, delegates.join(' ') || '-']);
      return { value: wallets, lines: columns(['wallet', 'delegates'], rows, 'no wallets') };
    },
  }),
  command({
    name: 'wallet link',
    summary: 'Link another wallet to the account',
    details:
      `The private key of the new wallet is ${NEW_WALLET} in the environment, on standard input, or typed unseen; it ` +
      'signs a message and is not kept. A session that is older than ten minutes needs `wallet step-up` first.',
    options: STDIN,
    examples: ['wallet link', 'wallet link --stdin < new-wallet.key'],
    json: 'the answer of POST /v1/wallets/link',
    run: async (context, { stdin }) => {
      const client = await context.client();
      const key = await newWallet(context, stdin);
      const answer = await client.wallets.link(key);
      return { value: answer, lines: [`${addressOf(key)} is linked`] };
    },
  }),
  command({
    name: 'wallet unlink',
    summary: 'Take a wallet away; its open orders are cancelled',
    arguments: ADDRESS,
    examples: ['wallet unlink 0x…'],
    json: 'the answer of DELETE /v1/wallets/{address}',
    run: async (context, { address }) => {
      const answer = await (await context.client()).wallets.unlink(address);
      return { value: answer, lines: [`${address} is taken away; ${answer.orders_cancelled} orders cancelled`] };
    },
  }),
  command({
    name: 'wallet delegate',
    summary: 'Let another address sign orders that your wallet pays for',
    access: 'wallet',
    arguments: SIGNER,
    examples: ['wallet delegate 0x…'],
    json: 'the answer of POST /v1/wallets/{address}/delegates',
    run: async (context, { signer }) => {
      const answer = await (await context.client()).wallets.addDelegate(await context.privateKey(), signer);
      return { value: answer, lines: [`${signer} may sign for ${answer.address}`] };
    },
  }),
  command({
    name: 'wallet undelegate',
    summary: 'Take that right away; the open orders it has signed are cancelled',
    access: 'wallet',
    arguments: SIGNER,
    examples: ['wallet undelegate 0x…'],
    json: 'the answer of DELETE /v1/wallets/{address}/delegates',
    run: async (context, { signer }) => {
      const answer = await (await context.client()).wallets.removeDelegate(await context.privateKey(), signer);
      return { value: answer, lines: [`${signer} may not sign any more; ${answer.orders_cancelled} orders cancelled`] };
    },
  }),
  command({
    name: 'wallet cancel-signed',
    summary: 'Make worthless what a wallet has ever signed, sent or not, and cancel its open orders',
    details:
      'Raises the floor under the nonces of its orders by one, or to --floor: orders that are signed with a lower ' +
      'nonce are refused for ever, also those of its delegates. Orders of this program have the floor as nonce.',
    arguments: ADDRESS,
    options: { floor: { value: 'nonce', description: 'the least nonce that still counts' } },
    examples: ['wallet cancel-signed 0x…', 'wallet cancel-signed 0x… --floor 1000'],
    json: 'the answer of POST /v1/wallets/{address}/nonce-floor',
    run: async (context, { address, floor }) => {
      const { wallets } = await context.client();
      const answer = await (floor === undefined
        ? wallets.cancelEverSigned(address)
        : wallets.raiseNonceFloor(address, numberOf('floor', floor)));
      const { nonce_floor, orders_cancelled } = answer;
      const lines = [`orders of ${address} below nonce ${nonce_floor} are worthless; ${orders_cancelled} cancelled`];
      return { value: answer, lines };
    },
  }),
  command({
    name: 'wallet step-up',
    summary: 'Prove with your wallet that it is still you',
    details: 'Some changes of an account ask for this when the sign-in is older than ten minutes.',
    access: 'wallet',
    json: 'the answer of POST /v1/auth/step-up',
    run: async (context) => {
      const client: ExchangeClient = await context.client();
      const answer = await client.wallets.stepUp(await context.privateKey());
      return { value: answer, lines: [`proved at ${answer.authenticated_at}`] };
    },
  }),
];

async function newWallet({ terminal }: Context, isFromInput: boolean): Promise<string> {
  const given = terminal.env[NEW_WALLET];
  if (isFromInput) return (await readInput(terminal)).trim();
  if (given) return given;
  if (terminal.input.isTTY !== true) throw new NeedsError('no wallet to link', `use --stdin, or ${NEW_WALLET}`);
  return (await askHidden(terminal, 'Private key of the new wallet: '))[0];
}
