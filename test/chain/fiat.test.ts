/** Cashing in and out on a chain, over HTTP (RULES.md 16.46 to 16.48): exchange, relayer, USDC and a provider. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { getAddress, type Hex, hashMessage, toHex } from 'viem';
import { DealServer } from '../support/dealServer.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { assertRefused } from '../support/traders.ts';
import { bearer, makeWallet, signIn } from '../support/wallet.ts';
import { NO_ANVIL } from './anvil.ts';
import { send } from './deploy.ts';
import { chainSettings, relayerAddress } from './exchange.ts';
import { chainRig, key, SIGNS_WITH_THE_DIGEST } from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const PROVIDER = key(0xd2).address;
/** More than 32 confirmations, and what anvil needs to call a block final. */
const FINAL_BLOCKS = 100;

test(
  'a person and a contract cash out, and the exchange is killed on the way; a person cashes in',
  options,
  async () => {
    const provider = await DealServer.start({ after }, PROVIDER.toLowerCase());
    const settings = { ...(await chainSettings(rig)), ...provider.environment };
    const server = await startServer({ after }, settings);
    const { client } = rig;
    const wallet = makeWallet();
    const address = wallet.address.toLowerCase();
    const session = (await signIn(server, wallet)).body;
    const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
      server.request(method, path, body, bearer(session));
    const create = async (kind: string, body: Json = {}): Promise<Json> => {
      const created = await ask('POST', `/v1/user/fiat/${kind}/sessions`, body);
      assert.equal(created.status, 201, JSON.stringify(created.body));
      return { ...created.body, reference: provider.launches.at(-1).reference };
    };
    const until = (id: string, state: string): Promise<Json> =>
      eventually(`the transfer is ${state}`, async () => {
        const { body } = await ask('GET', `/v1/user/fiat/offramp/sessions/${id}/transfer`);
        return body.transfer_state === state && body.typed_data !== null && body;
      });
    const finalize = () => client.mine({ blocks: FINAL_BLOCKS });

    const rail = await eventually('the chain answers', async () => {
      const answer = await ask('GET', '/v1/fiat/rail');
      return answer.status === 200 && answer.body;
    });
    assert.deepEqual([rail.rail, rail.domain.verifyingContract], ['evm', getAddress(rig.contracts.usdc)]);
    const onLedger = await ask('GET', '/v1/fiat/rail/transfers');
    assertRefused(onLedger, 409, 'CONFLICT', 'USDC is on a chain here: transfers are sent to the token itself');

    const offramp = await create('offramp');
    await provider.provide(server, offramp.reference, address, {});
    const waiting = await until(offramp.id, 'waiting_for_wallet');
    const { EIP712Domain: _, ...types } = waiting.typed_data.types;
    const signature = await wallet.signTypedData({ ...waiting.typed_data, types });
    const path = `/v1/user/fiat/offramp/sessions/${offramp.id}/transfer/authorization`;
    const authorize = (): Promise<Answer> => ask('POST', path, { intent_id: waiting.intent_id, signature });
    assert.equal((await authorize()).body.code, 'INSUFFICIENT_BALANCE', 'it is the wallet that pays');
    await rig.mint(wallet.address, 25_000_000n);
    await client.setAutomine(false);
    assert.equal((await authorize()).status, 200);
    await server.kill();
    await server.start(settings);
    await until(offramp.id, 'submitted_on_chain');
    await finalize();
    const { tx_evidence } = await until(offramp.id, 'confirmed');
    const hash = tx_evidence.effective_tx_hash as Hex;
    const sent = await client.getTransaction({ hash });
    assert.deepEqual(
      [sent.from, sent.nonce],
      [relayerAddress().toLowerCase(), 0],
      'sent once, and paid for by the relayer',
    );
    await provider.provide(server, offramp.reference, address, { status: 'success', tx_hash: hash });
    await until(offramp.id, 'complete');

    const contract = toHex(0x1271, { size: 20 });
    await client.setAutomine(true);
    await client.setCode({ address: contract, bytecode: SIGNS_WITH_THE_DIGEST });
    await rig.mint(contract, 25_000_000n);
    const { message } = (await ask('GET', `/v1/wallets/link/nonce?address=${contract}`)).body;
    const link = (digest: Hex): Promise<Answer> => ask('POST', '/v1/wallets/link', { message, signature: digest });
    assert.equal((await link(toHex(1, { size: 32 }))).status, 400);
    const linked = await link(hashMessage(message));
    assert.equal(linked.status, 200, JSON.stringify(linked.body));
    const ofContract = await create('offramp', { wallet_address: contract });
    await provider.provide(server, ofContract.reference, contract, {});
    const { intent_id, authorization } = await until(ofContract.id, 'waiting_for_wallet');
    const bySafe = `/v1/user/fiat/offramp/sessions/${ofContract.id}/transfer/authorization`;
    assert.equal((await ask('POST', bySafe, { intent_id, signature: authorization.digest })).status, 200);
    await until(ofContract.id, 'submitted_on_chain');
    await finalize();
    await until(ofContract.id, 'confirmed');
    assert.equal(await rig.walletUsdc(PROVIDER), 50_000_000n);

    const onramp = await create('onramp');
    const paid = await send(client, PROVIDER, rig.contracts.usdc, 'DemoUsdc', 'transfer', [wallet.address, 9_500_000n]);
    const amount = { value: '9.5', currency: 'USDC' };
    const terms = { status: 'success', to_address: address, tx_hash: paid.transactionHash, amount };
    await provider.provide(server, onramp.reference, PROVIDER.toLowerCase(), terms);
    await finalize();
    await eventually('the session is completed', async () => {
      return (await ask('GET', `/v1/user/fiat/sessions/${onramp.id}`)).body.status === 'completed';
    });
    assert.equal(await rig.walletUsdc(wallet.address), 9_500_000n);
    assert.equal((await ask('GET', '/v1/user/balances')).body.usdc.available, '0', 'the books have nothing of it');
    assert.equal(await server.stop(), 0);
  },
);
