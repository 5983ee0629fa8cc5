/** Cashing in and out through a provider: from bank money to USDC and back. */
import type { FiatSessionRecord, FiatTransfer } from '../../../api/fiat.ts';
import { FIAT_STATUSES } from '../../../api/fiat.ts';
import { command, type Result } from '../frame/command.ts';
import { numberOf } from '../frame/orderForm.ts';
import { columns, decimal, facts } from '../frame/text.ts';

const ID = { id: { description: 'the id of the session' } } as const;
const AMOUNT = { description: 'how much; without it the provider asks', optional: true } as const;
const NEW = {
  provider: { value: 'name', description: 'which provider; the exchange has one that it prefers' },
  currency: { value: 'code', description: 'the currency of the bank, such as USD' },
  wallet: { value: 'address', description: 'a linked wallet; the first one unless it is given' },
} as const;

export const FIAT = [
  command({
    name: 'fiat in',
    summary: 'Begin to turn money of a bank into USDC, at the provider page that it prints',
    details: 'The account is credited when the USDC has arrived; `fiat show` says how far it is.',
    arguments: { amount: AMOUNT },
    options: { ...NEW, method: { value: 'name', description: 'how it is paid, in the words of the provider' } },
    examples: ['fiat in 25', 'fiat in'],
    json: 'the answer of POST /v1/user/fiat/onramp/sessions, with its launch_url',
    run: async (context, { amount, provider, currency, wallet, method }) => {
      const { fiat } = await context.client();
      const fields = { provider, amount, fiat_currency: currency, wallet_address: wallet, payment_method: method };
      const session = await fiat.createOnramp(fields);
      return { value: session, lines: launchLines(session.session_id, session.launch_url) };
    },
  }),
  command({
    name: 'fiat out',
    summary: 'Begin to turn USDC into money of a bank, at the provider page that it prints',
    details:
      'Agree to the sale at the provider, then `fiat sign` sends the USDC. A sign-in that is older than ten minutes ' +
      'needs `wallet step-up` first.',
    arguments: { amount: AMOUNT },
    options: { ...NEW, method: { value: 'name', description: 'how it is paid out, in the words of the provider' } },
    examples: ['fiat out 10'],
    json: 'the answer of POST /v1/user/fiat/offramp/sessions, with its launch_url',
    run: async (context, { amount, provider, currency, wallet, method }) => {
      const { fiat } = await context.client();
      const fields = { provider, amount, fiat_currency: currency, wallet_address: wallet, cashout_method: method };
      const session = await fiat.createOfframp(fields);
      return { value: session, lines: launchLines(session.session_id, session.launch_url) };
    },
  }),
  command({
    name: 'fiat list',
    summary: 'List the sessions of the account, the newest first',
    options: {
      kind: { value: 'kind', description: 'only these', choices: ['onramp', 'offramp'] },
      status: { value: 'status', description: 'only these', choices: FIAT_STATUSES },
      limit: { value: 'number', description: 'how many, up to 100', fallback: '20' },
      offset: { value: 'number', description: 'how many newer ones are left out', fallback: '0' },
    },
    examples: ['fiat list', 'fiat list --kind offramp --status processing'],
    json: 'the answer of GET /v1/user/fiat/sessions',
    run: async (context, { kind, status, limit, offset }) => {
      const { fiat } = await context.client();
      const filter = { ...(kind === undefined ? {} : { kind }), ...(status === undefined ? {} : { status }) };
      const page = await fiat.list({ ...filter, limit: numberOf('limit', limit), offset: numberOf('offset', offset) });
      const rows = page.sessions.map((row) => [row.id, row.kind, row.status, amountOf(row), row.created_at]);
      return { value: page, lines: columns(['session', 'kind', 'status', 'amount', 'since'], rows, 'no sessions') };
    },
  }),
  command({
    name: 'fiat show',
    summary: 'Show a session: how far it is, and what is to be done',
    arguments: ID,
    examples: ['fiat show 01a2…'],
    json: '`{session, transfer}`: the record, and of an off-ramp the answer of GET …/transfer, or null',
    run: async (context, { id }) => {
      const { fiat } = await context.client();
      const session = await fiat.session(id);
      const transfer = session.kind === 'offramp' ? await fiat.transfer(id) : null;
      return { value: { session, transfer }, lines: [...sessionLines(session), ...transferLines(transfer)] };
    },
  }),
  command({
    name: 'fiat launch',
    summary: 'Print another address of the provider page: each is good once, and not for long',
    arguments: ID,
    examples: ['fiat launch 01a2…'],
    json: 'the answer of POST …/launch-token',
    run: async (context, { id }) => {
      const { fiat } = await context.client();
      const { kind } = await fiat.session(id);
      const answer = await fiat.launchToken(kind, id);
      return { value: answer, lines: launchLines(id, answer.launch_url) };
    },
  }),
  command({
    name: 'fiat sign',
    summary: 'Sign the transfer of an off-ramp with your wallet; the exchange then sends it',
    details: 'It sends exactly the amount that was agreed at the provider, to the address that the provider has named.',
    access: 'wallet',
    arguments: ID,
    examples: ['fiat sign 01a2…'],
    json: 'the answer of POST …/transfer/authorization',
    run: async (context, { id }) => {
      const { fiat } = await context.client();
      return transferResult(await fiat.signAndAuthorize(id, await context.privateKey()));
    },
  }),
  command({
    name: 'fiat retry',
    summary: 'Send a signed transfer again, where `fiat show` says that it may be',
    arguments: ID,
    examples: ['fiat retry 01a2…'],
    json: 'the answer of POST …/transfer/submit',
    run: async (context, { id }) => {
      const { fiat } = await context.client();
      const { intent_id, message } = await fiat.transfer(id);
      if (intent_id === null) return { value: null, lines: [message], isBad: true };
      return transferResult(await fiat.submit(id, intent_id));
    },
  }),
  command({
    name: 'fiat back',
    summary: 'Say that you are back from the provider of an on-ramp, so that it is asked at once',
    arguments: ID,
    examples: ['fiat back 01a2…'],
    json: 'the answer of POST …/complete',
    run: async (context, { id }) => {
      const session = await (await context.client()).fiat.completeOnramp(id);
      return { value: session, lines: sessionLines(session) };
    },
  }),
  command({
    name: 'fiat cancel',
    summary: 'End an off-ramp that is not signed yet',
    arguments: ID,
    examples: ['fiat cancel 01a2…'],
    json: 'the answer of POST …/cancel',
    run: async (context, { id }) => {
      const session = await (await context.client()).fiat.cancel(id);
      return { value: session, lines: sessionLines(session) };
    },
  }),
];

function launchLines(id: string, launchUrl: string): string[] {
  return [...facts([['session', id]]), 'Go on in a browser, once:', `  ${launchUrl}`];
}

function amountOf({ sell_amount, buy_amount, requested_amount }: FiatSessionRecord): string | null {
  const fixed = sell_amount ?? buy_amount;
  return fixed === null ? requested_amount : `${fixed.value} ${fixed.currency}`;
}

function sessionLines(session: FiatSessionRecord): string[] {
  const { id, kind, provider, status, wallet_address, to_address, tx_hash, failure_code } = session;
  return facts([
    ['session', id],
    ['kind', kind],
    ['provider', provider],
    ['status', status],
    ['amount', amountOf(session) ?? undefined],
    ['wallet', wallet_address],
    ['paid to', to_address ?? undefined],
    ['transaction', tx_hash ?? undefined],
    ['failure', failure_code ?? undefined],
  ]);
}

function transferLines(transfer: FiatTransfer | null): string[] {
  if (transfer === null) return [];
  const { transfer_state, message, tx_evidence, typed_data, can_submit } = transfer;
  const { confirmations, required_confirmations } = tx_evidence;
  return [
    ...facts([
      ['transfer', transfer_state],
      ['to sign', can_submit && typed_data !== null ? `${decimal(typed_data.message.value)} USDC` : undefined],
      ['confirmed', confirmations > 0 ? `${confirmations} of ${required_confirmations} blocks` : undefined],
    ]),
    message,
  ];
}

function transferResult(transfer: FiatTransfer): Result {
  return { value: transfer, lines: transferLines(transfer) };
}
