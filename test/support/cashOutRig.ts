/**
 * An exchange on a real EVM with a provider and a relayer, for cash-outs that are driven only from outside: over HTTP,
 * by answers of the provider, and by the chain and its node. Blocks are made when the test says so.
 */
import assert from 'node:assert/strict';
import { encodeFunctionData, type Hex } from 'viem';
import { TRANSFER_ROWS } from '../../gateway/fiat/machine.ts';
import type { OperatedFiatSession } from '../../shared/api/fiat.ts';
import { signTransfer } from '../../shared/client/fiatSigning.ts';
import { addressOf, privateKeyBytes, signDigest } from '../../shared/client/privateKey.ts';
import { cancelDigest, type TransferAuthorization } from '../../shared/crypto/eip3009.ts';
import { NO_ANVIL } from '../chain/anvil.ts';
import { abiOf, send } from '../chain/deploy.ts';
import { chainSettings } from '../chain/exchange.ts';
import { ChainRig, ROLES } from '../chain/rig.ts';
import { DealServer } from './dealServer.ts';
import { eventually } from './eventually.ts';
import { usdcCall } from './fakeUsdc.ts';
import { RpcGate } from './rpcGate.ts';
import { type Json, type Scope, startServer, type TestServer } from './server.ts';
import { makeTrader, type Trader } from './traders.ts';

const USDC = 1_000_000;
/** The default amount of a sale. */
export const SOLD_MICRO = 25 * USDC;
const PROVIDER = addressOf(`0x${'d2'.repeat(32)}`);
const CUSTOMER_KEY = `0x${'c7'.repeat(32)}` as const;
const STRANGER = `0x${'57'.repeat(20)}` as const;
const WAIT_SEC = 1800;
/** Looks without the state that is waited for, after which the provider sends its event again. */
const LOOKS_A_HINT = 12;

type Sale = { readonly id: string; readonly reference: string };
type Steps = OperatedFiatSession['transitions'];

export class CashOutRig {
  readonly chain: ChainRig;
  readonly gate: RpcGate;
  readonly provider: DealServer;
  readonly server: TestServer;
  readonly customer: Trader;
  readonly wallet = addressOf(CUSTOMER_KEY) as Hex;
  /** The rows of the transfer machine that were seen to be reached, as `from > trigger > to`. */
  readonly reached = new Set<string>();

  private constructor(chain: ChainRig, gate: RpcGate, provider: DealServer, server: TestServer, customer: Trader) {
    this.chain = chain;
    this.gate = gate;
    this.provider = provider;
    this.server = server;
    this.customer = customer;
  }

  /** With `slotsInAnEpoch` 1 a block is final once it has two successors, so that the 32 confirmations decide. */
  static async start(scope: Scope, slotsInAnEpoch: number): Promise<CashOutRig> {
    // Without anvil every test of the file is skipped.
    if (NO_ANVIL) return null as unknown as CashOutRig;
    const chain = await ChainRig.start(slotsInAnEpoch);
    scope.after(() => chain.stop());
    const gate = await RpcGate.open(scope, chain.client.chain.rpcUrls.default.http[0]);
    const provider = await DealServer.start(scope, PROVIDER.toLowerCase());
    const settings = { ...(await chainSettings(chain)), ...provider.environment, RPC_URL: gate.url, SHARDS: '1' };
    const server = await startServer(scope, settings);
    const options = { privateKey: CUSTOMER_KEY, depositMicro: 0, requestsPerSecond: 1000 };
    const rig = new CashOutRig(chain, gate, provider, server, await makeTrader(server, options));
    await chain.mint(rig.wallet, BigInt(10_000 * USDC));
    await chain.client.setAutomine(false);
    return rig;
  }

  async create(): Promise<Sale> {
    const { id } = await eventually('a cash-out is begun', () => this.customer.client.fiat.createOfframp());
    return { id, reference: this.provider.launches.at(-1).reference };
  }

  /** The provider says this of the sale, and sends an event. Its deadline is by the clock of the chain. */
  async say({ reference }: Sale, row: Json = {}): Promise<void> {
    const before = this.provider.deals.get(reference)?.[0];
    const { timestamp } = await this.chain.client.getBlock();
    const deadline_at_ms = before?.deadline_at_ms ?? (Number(timestamp) + WAIT_SEC) * 1000;
    await this.provider.provide(this.server, reference, this.wallet.toLowerCase(), { deadline_at_ms, ...row });
  }

  /** Everything that has happened to it, as an operator sees it. */
  async shown({ id }: Sale): Promise<OperatedFiatSession> {
    const shown = await this.server.admin.fiatSession(id);
    for (const row of rowsIn(shown.transitions)) this.reached.add(row);
    return shown;
  }

  /** @returns how it stands once it has passed the step. */
  async passed(sale: Sale, cause: string, times = 1): Promise<OperatedFiatSession> {
    let looks = 0;
    let last: OperatedFiatSession | null = null;
    const what = () => `${cause} for the ${times}th time; ${JSON.stringify([last?.session, last?.transitions])}`;
    return eventually(what, async () => {
      if (++looks % LOOKS_A_HINT === 0) await this.provider.sendEvent(this.server, sale.reference);
      last = await this.shown(sale);
      return last.transitions.filter((step) => step.cause === cause && step.subject === 'transfer').length >= times
        ? last
        : undefined;
    });
  }

  /** A sale whose terms the provider has fixed. */
  async fixed(): Promise<Sale> {
    const sale = await this.create();
    await this.say(sale);
    await this.passed(sale, 'provider_locked');
    return sale;
  }

  async sign({ id }: Sale): Promise<void> {
    const { fiat } = this.customer.client;
    const transfer = await eventually('the chain says what is signed for', async () => {
      const shown = await fiat.transfer(id);
      return shown.typed_data !== null && shown;
    });
    await fiat.authorize(id, transfer.intent_id!, await signTransfer(transfer, CUSTOMER_KEY));
  }

  /** A sale that is signed and sent, and in no block. @returns the transaction */
  async submitted(): Promise<{ readonly sale: Sale; readonly txHash: Hex }> {
    const sale = await this.fixed();
    await this.sign(sale);
    const { session } = await this.passed(sale, 'broadcast_accepted');
    return { sale, txHash: session.tx_hash as Hex };
  }

  /** A sale that is signed, and whose node takes no transactions. */
  async unsent(): Promise<Sale> {
    const sale = await this.fixed();
    this.gate.unanswered.add('eth_sendRawTransaction');
    await this.sign(sale);
    return sale;
  }

  sends(): void {
    this.gate.unanswered.clear();
  }

  /** The transfer with the signature of the wallet, as everybody can read it in the pool. */
  async authorization(sale: Sale): Promise<{ readonly transfer: TransferAuthorization; readonly signature: string }> {
    const { typed_data, authorization } = await this.customer.client.fiat.transfer(sale.id);
    const { from, to, value, validAfter, validBefore, nonce } = typed_data!.message;
    const times = { validAfterSec: Number(validAfter), validBeforeSec: Number(validBefore) };
    const transfer = { from: from.toLowerCase(), to: to.toLowerCase(), valueMicro: Number(value), ...times, nonce };
    return { transfer, signature: authorization!.signature! };
  }

  /** Somebody else sends the signed transfer. The transaction is in no block yet. */
  async sendAsStranger(sale: Sale): Promise<Hex> {
    const { transfer, signature } = await this.authorization(sale);
    return this.send(STRANGER, usdcCall('transfer', transfer, signature));
  }

  /** The wallet takes its signature back. */
  async cancelAuthorization(sale: Sale): Promise<void> {
    const { transfer } = await this.authorization(sale);
    const { typed_data } = await this.customer.client.fiat.transfer(sale.id);
    const digest = cancelDigest(typed_data!.domain, transfer.from, transfer.nonce);
    const signature = signDigest(Buffer.from(digest.slice(2), 'hex'), privateKeyBytes(CUSTOMER_KEY));
    await this.send(STRANGER, usdcCall('cancel', transfer, signature));
  }

  /** A usual transfer of USDC. The transaction is in no block yet. */
  pay(from: Hex, to: string, micro: number): Promise<Hex> {
    const args = [to, BigInt(micro)];
    return this.send(from, encodeFunctionData({ abi: abiOf('DemoUsdc'), functionName: 'transfer', args }));
  }

  send(account: Hex, data: Hex): Promise<Hex> {
    const { client, contracts } = this.chain;
    const call = { account, to: contracts.usdc, data, gas: 300_000n, gasPrice: 0n, chain: null };
    return client.sendTransaction(call);
  }

  /** Out of the pool, and until `sends` the exchange cannot send it again: it does so by itself, sooner or later. */
  takeOut(hash: Hex): Promise<unknown> {
    this.gate.unanswered.add('eth_sendRawTransaction');
    return this.drop(hash);
  }

  drop(hash: Hex): Promise<unknown> {
    return this.chain.client.dropTransaction({ hash });
  }

  mine(blocks = 1): Promise<void> {
    return this.chain.client.mine({ blocks });
  }

  /** Mines enough blocks to confirm everything that is in a block now. */
  confirm(): Promise<void> {
    return this.mine(40);
  }

  async pass(seconds: number): Promise<void> {
    await this.chain.client.increaseTime({ seconds });
    await this.mine(5);
  }

  async act(functionName: string, args: readonly unknown[]): Promise<void> {
    const { client, contracts } = this.chain;
    await client.setAutomine(true);
    await send(client, ROLES.admin, contracts.usdc, 'DemoUsdc', functionName, args);
    await client.setAutomine(false);
  }

  /** USDC received by the provider's wallet: the sum of all completed sales. */
  async received(): Promise<number> {
    return Number(await this.chain.walletUsdc(PROVIDER as Hex));
  }
}

function rowsIn(transitions: Steps): string[] {
  return transitions
    .filter(({ subject }) => subject === 'transfer')
    .map(({ from, cause }) => `${from ?? 'none'} > ${cause}`);
}

/** All that the table has, as `reached` names them. */
export function rowsOfTheTable(): string[] {
  return TRANSFER_ROWS.flatMap(({ from, on }) => from.map((each) => `${each} > ${on}`)).sort();
}

/** The session stands so, for the customer and for the operator. */
export async function assertStands(
  rig: CashOutRig,
  sale: Sale,
  expected: { state: string; alarm?: string | null; failure?: string | null; canSubmit?: boolean },
): Promise<void> {
  const { session, transfer } = await rig.shown(sale);
  const { state, alarm = null, failure = null, canSubmit = false } = expected;
  assert.deepEqual(
    [session.transfer_state, session.alarm, session.failure_code, transfer!.can_submit],
    [state, alarm, failure, canSubmit],
  );
  const { sessions } = await rig.server.admin.fiatSessions({ alarmed: true, limit: 100 });
  assert.equal(
    sessions.some(({ id }) => id === sale.id),
    alarm !== null,
    'it is among those that someone has to look at',
  );
}
