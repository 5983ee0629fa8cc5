/** The gas of each action, as data/contracts/gas.json has it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Address, TransactionReceipt } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { send } from './deploy.ts';
import { BUY, type ChainMarket, type ChainRig, key, RESOLUTION_DELAY, ROLES, SELL, USDC } from './rig.ts';

const GAS_FILE = fileURLToPath(new URL('../../data/contracts/gas.json', import.meta.url));
const TEN = 10_000_000n;
const TRADERS = 100;
const BATCHES = [1, 10, 50];
const PAID = [1, 10, 30];

type GasTable = Readonly<Record<string, number>>;

export function gasTable(): GasTable {
  return JSON.parse(readFileSync(GAS_FILE, 'utf8')) as GasTable;
}

export function writeGasTable(table: GasTable): void {
  writeFileSync(GAS_FILE, `${JSON.stringify(table, null, 2)}\n`);
}

/** On a chain of its own: earlier state changes the cost of a storage write. */
export async function measureGas(rig: ChainRig): Promise<GasTable> {
  const table: Record<string, number> = {};
  const note = (name: string, { gasUsed }: TransactionReceipt, matches = 1) => {
    table[name] = Math.round(Number(gasUsed) / matches);
  };
  const market = await rig.createMarket();
  const traders = Array.from({ length: TRADERS }, (_, index) => key(index + 1));
  for (const trader of traders) {
    await rig.fund(trader, 4n * TEN);
    await rig.split(trader, market, 2n * TEN);
  }
  await warmUp(rig, market, traders);

  for (const kind of ['standard', 'mint', 'merge'] as const) {
    for (const matches of BATCHES) {
      note(`settleBatch, each of ${matches} ${kind}`, await batch(rig, market, traders, kind, matches), matches);
    }
  }
  const most = await belowFloors(rig, market, traders);
  note('settleBatch, each of 50 standard, nonces below floors to come', most, 50);
  note('settleBatch, each of 50 makers of one taker', await sweep(rig, market, traders), 50);
  await noteOthers(rig, market, traders[0], note);
  for (const count of PAID) note(`pay, each of ${count}`, await payments(rig, traders.slice(0, count)), count);
  return table;
}

/** To wallets that had USDC before; the chain is as it was afterwards. */
async function payments(rig: ChainRig, traders: PrivateKeyAccount[]): Promise<TransactionReceipt> {
  const snapshot = await rig.client.snapshot();
  for (const { address } of traders) await rig.mint(address, 1n);
  const made = traders.map(({ address: account }) => {
    return { operationId: rig.freshHash(), account, amount: 1_000_000n, isRelease: false };
  });
  const { exchange, payments: contract } = rig.contracts;
  const receipt = await send(rig.client, ROLES.payer, contract, 'Payments', 'pay', [exchange, made]);
  await rig.client.revert({ id: snapshot });
  return receipt;
}

type Kind = 'standard' | 'mint' | 'merge';

/** As in a running exchange: the fee account has every asset, and the word of the trades is in use. */
async function warmUp(rig: ChainRig, market: ChainMarket, traders: PrivateKeyAccount[]): Promise<void> {
  await batch(rig, market, traders, 'standard', 1, { firstTrade: 255n, reverts: false });
  await batch(rig, market, traders, 'mint', 1, { firstTrade: 256n, reverts: false });
}

/** Raises cost a batch the most where every maker has three that are not in force, and the nonces lie between. */
async function belowFloors(
  rig: ChainRig,
  market: ChainMarket,
  traders: PrivateKeyAccount[],
): Promise<TransactionReceipt> {
  const snapshot = await rig.client.snapshot();
  for (const floor of [1n, 3n, 5n]) {
    for (const { address } of traders) await rig.exchange(address, 'raiseNonceFloorTo', [floor]);
  }
  let most: TransactionReceipt | null = null;
  for (const nonce of [0n, 2n, 4n]) {
    const receipt = await batch(rig, market, traders, 'standard', 50, { nonce });
    if (most === null || receipt.gasUsed > most.gasUsed) most = receipt;
  }
  await rig.client.revert({ id: snapshot });
  return most!;
}

/** Pairs of accounts that had both assets before; the chain is as it was afterwards. */
async function batch(
  rig: ChainRig,
  { yes, no }: ChainMarket,
  traders: PrivateKeyAccount[],
  kind: Kind,
  count: number,
  { firstTrade = 257n, reverts = true, nonce = 0n } = {},
): Promise<TransactionReceipt> {
  const snapshot = reverts ? await rig.client.snapshot() : null;
  const [takerSide, makerSide] = kind === 'merge' ? [SELL, SELL] : [BUY, kind === 'mint' ? BUY : SELL];
  const makerToken = kind === 'standard' ? yes : no;
  const makerMicro = kind === 'standard' ? 6_000_000n : 4_000_000n;
  const orders = [];
  const matches = [];
  for (let index = 0; index < count; index++) {
    const [taker, maker] = [traders[2 * index], traders[2 * index + 1]];
    orders.push(await rig.order(taker, takerSide, yes, TEN, 6_000_000n, { nonce }));
    orders.push(await rig.order(maker, makerSide, makerToken, TEN, makerMicro, { nonce }));
    const at = { taker: BigInt(2 * index), maker: BigInt(2 * index + 1), tradeId: firstTrade + BigInt(index) };
    matches.push(rig.match(TEN, makerMicro, at));
  }
  const receipt = await rig.settleAll(orders, matches);
  if (snapshot !== null) await rig.client.revert({ id: snapshot });
  return receipt;
}

async function sweep(rig: ChainRig, { yes }: ChainMarket, traders: PrivateKeyAccount[]): Promise<TransactionReceipt> {
  const orders = [await rig.order(traders[0], BUY, yes, TEN, 6_000_000n)];
  const matches = [];
  for (let index = 1; index <= 50; index++) {
    orders.push(await rig.order(traders[index], SELL, yes, TEN / 50n, 120_000n));
    matches.push(rig.match(TEN / 50n, 120_000n, { maker: BigInt(index), tradeId: 256n + BigInt(index) }));
  }
  return rig.settleAll(orders, matches);
}

async function noteOthers(
  rig: ChainRig,
  { conditionId }: ChainMarket,
  trader: PrivateKeyAccount,
  note: (name: string, receipt: TransactionReceipt) => void,
): Promise<void> {
  const self = trader.address;
  const releases = () => rig.operator('release', [rig.freshHash(), self, USDC, 5_000_000n]);
  await rig.mint(self, 2n * TEN);
  const deposit = await rig.depositArgs(trader, TEN);
  note('depositWithAuthorization', await rig.exchange(self, 'depositWithAuthorization', deposit));
  await releases();
  note('release', await releases());
  note('splitFromEscrow', await rig.exchange(self, 'splitFromEscrow', [conditionId, 1_000_000n]));
  note('splitFor', await rig.operator('splitFor', [rig.freshHash(), self, conditionId, 1_000_000n]));
  note('mergeFor', await rig.operator('mergeFor', [rig.freshHash(), self, conditionId, 1_000_000n]));
  note('withdraw', await rig.exchange(self, 'withdraw', [USDC, 1_000_000n, self]));
  note('withdrawFor', await rig.operator('withdrawFor', [rig.freshHash(), self, USDC, 1_000_000n]));
  const marketId = `0x${'ab'.repeat(16)}`;
  const { marketFactory, resolutions } = rig.contracts;
  note(
    'createMarket',
    await send(rig.client, ROLES.deployer, marketFactory, 'MarketFactory', 'createMarket', [marketId]),
  );
  const decide = (from: Address, name: string, args: unknown[]) =>
    send(rig.client, from, resolutions, 'Resolutions', name, args);
  note('propose', await decide(ROLES.resolver, 'propose', [marketId, 1_000_000n, 0n]));
  const proposed = await rig.client.snapshot();
  note('veto', await decide(ROLES.vetoer, 'veto', [1n]));
  await rig.client.revert({ id: proposed });
  await rig.pass(RESOLUTION_DELAY);
  note('carryOut', await decide(ROLES.resolver, 'carryOut', [1n]));
}
