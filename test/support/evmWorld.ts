/** A chain in memory with USDC, and the rail of the exchange on it. The chain outlives the exchange's processes. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { type Hex, recoverAddress, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { EvmRail } from '../../gateway/fiat/evmRail.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { chainKey } from '../../shared/chain/key.ts';
import { ChainNode } from '../../shared/chain/node.ts';
import { Relay } from '../../shared/chain/relay.ts';
import type { RailQuestions } from '../../shared/wire/railQuestions.ts';
import { FakeChain } from './fakeChain.ts';
import { FakeUsdc, USDC } from './fakeUsdc.ts';
import { Random } from './random.ts';

const RELAYER = toHex(0x5e1a, { size: 32 });
const MOST_FEE_WEI = 1_000_000_000_000;
/** Blocks that a test which passes over time makes at most. */
const MOST_BLOCKS = 64;
const SEND = 'eth_sendRawTransaction';

// Signatures are imported when they are first checked, which takes longer than a test waits.
const anyone = privateKeyToAccount(RELAYER);
await recoverAddress({ hash: RELAYER, signature: await anyone.sign({ hash: RELAYER }) });

type EvmWorldOptions = {
  readonly startMs: number;
  readonly balances: ReadonlyMap<string, number>;
  /** Blocks after which a block is final. */
  readonly finality: number;
  readonly random?: Random;
  /** A file with the history, for a process that goes on when this one is killed. */
  readonly journal?: string | null;
};
type Entry = { readonly sent?: Hex; readonly passedMs?: number };
type Through = <T>(work: () => Promise<T>) => Promise<T>;

export class EvmWorld {
  /** The secret of the relayer's key; another one from the next process on. */
  relayerKey: Hex = RELAYER;
  readonly chain: FakeChain<FakeUsdc>;

  readonly #journal: string | null;
  #blockSec: number;

  constructor({ startMs, balances, finality, random = new Random(1), journal = null }: EvmWorldOptions) {
    this.#journal = journal;
    if (journal !== null) writeFileSync(journal, '');
    this.#blockSec = Math.floor(startMs / 1000);
    const options = { finality, timestampSec: () => this.#blockSec };
    this.chain = new FakeChain(random, () => new FakeUsdc(balances), options);
    this.chain.mine(finality);
  }

  /** The chain as it is after all that its journal says; whoever opens it now goes on without one. */
  static async again(options: EvmWorldOptions & { readonly journal: string }): Promise<EvmWorld> {
    const world = new EvmWorld({ ...options, journal: null });
    for (const line of readFileSync(options.journal, 'utf8').split('\n')) {
      if (line === '') continue;
      const { sent, passedMs }: Entry = JSON.parse(line);
      if (sent !== undefined) await world.chain.call(SEND, [sent]);
      if (passedMs !== undefined) world.pass(passedMs);
    }
    return world;
  }

  /** A block for each second that has passed, as far as that makes a difference. */
  pass(nowMs: number): void {
    this.#write({ passedMs: nowMs });
    const nowSec = Math.floor(nowMs / 1000);
    this.#blockSec = Math.max(this.#blockSec, nowSec - MOST_BLOCKS);
    while (this.#blockSec < nowSec) {
      this.#blockSec++;
      this.chain.mine();
    }
  }

  get relayer(): Hex {
    return chainKey(this.relayerKey).address;
  }

  /** Opens the rail like a newly started process. @param through wraps each question to settlement. */
  openRail(clock: Clock, mayPay: (address: string) => boolean, through: Through = (work) => work()): EvmRail {
    const node = new ChainNode({
      call: (method, params) => {
        if (method === SEND) this.#write({ sent: params[0] as Hex });
        return this.chain.call(method, params);
      },
    });
    const terms = { key: chainKey(this.relayerKey), chainId: 137, usdc: USDC as Hex, mostFeeWei: BigInt(MOST_FEE_WEI) };
    const relay = new Relay({ node, ...terms, nowMs: () => clock.nowMs(), headsMs: 0 });
    const link = {
      ask<N extends keyof RailQuestions>(name: N, ask: RailQuestions[N]['ask']): Promise<RailQuestions[N]['answer']> {
        return through(() => relay.handlers[name](ask));
      },
    };
    return new EvmRail({ link, mayPay, mostFeeWei: MOST_FEE_WEI, lookPauseMs: 500 });
  }

  #write(entry: Entry): void {
    if (this.#journal !== null) appendFileSync(this.#journal, `${JSON.stringify(entry)}\n`);
  }
}
