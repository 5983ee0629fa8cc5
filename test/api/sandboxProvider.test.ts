/** The sandbox provider as the process that it is, with a running exchange (RULES.md 16.70 to 16.76). */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { addressOf, privateKeyBytes, signDigest } from '../../shared/client/privateKey.ts';
import { argumentsOfNode } from '../support/builtPrograms.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { RAMP_PROGRAM, RampProcess } from '../support/rampProcess.ts';
import { startServer } from '../support/server.ts';
import { makeTrader } from '../support/traders.ts';

const [RAMP_KEY, CUSTOMER_KEY] = [`0x${'e7'.repeat(32)}`, `0x${'e8'.repeat(32)}`];
const USDC = 1_000_000;

const ramp = await RampProcess.on(fileScope, RAMP_KEY);
const server = await startServer(fileScope, {
  ...ramp.environment,
  SHARDS: '1',
  FIAT_BLOCK_MS: '20',
});
await ramp.start(server.baseUrl);
const company = await server.admin.createUser({ wallet_address: addressOf(RAMP_KEY) });
await server.admin.deposit(company.id, { amount_usdc_micro: String(1000 * USDC) });
const { client } = await makeTrader(server, { privateKey: CUSTOMER_KEY });

async function restartRamp(): Promise<void> {
  await ramp.kill();
  await ramp.start(server.baseUrl);
}

async function balanceMicro(): Promise<number> {
  return Number((await client.balances()).usdc.available);
}

test('16.71: a person cashes in at the provider, and the account gets the amount that the rail shows', async () => {
  const before = await balanceMicro();
  const session = await client.fiat.createOnramp({ amount: '25' });
  const deal = await ramp.control('POST', 'customer', { launch_url: session.launch_url });
  assert.equal(deal['status'], 'created', JSON.stringify(deal));
  await restartRamp();
  const done = await eventually('the cash-in is completed', async () => {
    const found = await client.fiat.session(session.id);
    return found.status === 'completed' && found;
  });
  assert.match(done.tx_hash!, /^0x[0-9a-f]{64}$/);
  assert.equal(await balanceMicro(), before + 25 * USDC);
  await eventually('the provider has sold', async () => (await ramp.control('GET', 'books'))['promised_micro'] === 0);
});

test('16.72: a person cashes out, signs once, and the bank is paid once, over a kill of the provider', async () => {
  await ramp.control('PUT', 'switches', { listDelayMs: 0, payoutDelayMs: 0, hookCopies: 2 });
  const before = await balanceMicro();
  const session = await client.fiat.createOfframp({ amount: '10.5' });
  await ramp.control('POST', 'customer', { launch_url: session.launch_url });
  await client.fiat.transaction(session.id);
  const waiting = await eventually('the wallet is asked', async () => {
    const transfer = await client.fiat.transfer(session.id);
    return transfer.can_submit && transfer;
  });
  const { intent_id, authorization } = waiting;
  const digest = Buffer.from(authorization!.digest.slice(2), 'hex');
  await client.fiat.authorize(session.id, intent_id!, signDigest(digest, privateKeyBytes(CUSTOMER_KEY)));
  await restartRamp();
  const done = await eventually('the cash-out is complete', async () => {
    const transfer = await client.fiat.transfer(session.id);
    return transfer.transfer_state === 'complete' && transfer;
  });
  assert.ok(done.tx_evidence.confirmations >= 32);
  assert.equal(await balanceMicro(), before - 10.5 * USDC);
  const books = await ramp.control('GET', 'books');
  assert.deepEqual([books['paid_out_micro'], books['taken_micro']], [10.5 * USDC, 25 * USDC]);
  assert.equal(books['usdc_micro'], (1000 - 25 + 10.5) * USDC);
});

test('16.70: settings that are wrong end the start with a line that repeats no secret', async () => {
  const { shared } = ramp;
  const right = { ...shared, RAMP_PRIVATE_KEY: RAMP_KEY };
  const onChain = { ...right, RPC_URL: 'http://127.0.0.1:1', CHAIN_ID: '137', USDC_ADDRESS: `0x${'12'.repeat(20)}` };
  for (const [wrong, name] of [
    [{ ...shared, RAMP_PRIVATE_KEY: 'a-secret-that-is-no-key' }, 'RAMP_PRIVATE_KEY'],
    [{ ...right, FIAT_SANDBOX_URL: 'http://example.com' }, 'FIAT_SANDBOX_URL'],
    [{ ...onChain, RPC_URL: 'a-secret-node' }, 'RPC_URL'],
    [{ ...onChain, CHAIN_ID: '' }, 'CHAIN_ID'],
    [{ ...onChain, USDC_ADDRESS: '0x12' }, 'USDC_ADDRESS'],
    [{ ...onChain, MOST_FEE_GWEI: '-1' }, 'MOST_FEE_GWEI'],
  ] as const) {
    const started = spawn(process.execPath, [...argumentsOfNode(), RAMP_PROGRAM], { env: { ...wrong } });
    const said: string[] = [];
    started.stderr.on('data', (bytes) => said.push(String(bytes)));
    const [code] = await once(started, 'close');
    assert.equal(code, 78);
    assert.match(said.join(''), new RegExp(`^error: ${name}: `));
    assert.ok(!said.join('').includes('a-secret'));
  }
});
