/** A local EVM (anvil) on a free port; a test on a platform without one is skipped and says so. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { arch, platform } from 'node:process';
import { createInterface } from 'node:readline';
import { temporaryDirectory } from '../support/directory.ts';

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

function anvilPath(): string | null {
  const binary = platform === 'win32' ? 'anvil.exe' : 'anvil';
  const name = `@foundry-rs/anvil-${platform}-${ARCHITECTURES[arch] ?? arch}/bin/${binary}`;
  try {
    const path = createRequire(import.meta.url).resolve(name);
    return existsSync(path) ? path : null;
  } catch {
    return null;
  }
}

const PATH = anvilPath();

/** For the `skip` of a test. */
export const NO_ANVIL = PATH === null ? `@foundry-rs/anvil has no binary for ${platform} on ${arch}` : false;

type AnvilOptions = {
  readonly chainId: number;
  readonly port?: number;
  readonly blockSeconds?: number;
  /** Time of the first block; the clock goes on from there. */
  readonly timestampSec?: number;
  /** Twenty blocks a second, and one for each transaction besides: everything is final within two seconds. */
  readonly isQuick?: boolean;
  /** A block is final with twice as many behind it: 32 unless it is given. */
  readonly slotsInAnEpoch?: number | undefined;
};

const QUICK = ['--block-time', '0.05', '--mixed-mining', '--slots-in-an-epoch', '1'];
/**
 * Past states that a node keeps, in its memory. Without this it moves them to a disk, and has lost them when a
 * reorganisation goes back to one: the contracts are gone then.
 */
const KEPT_STATES = 4000;
/** Quick blocks are many, and few of them are asked for. */
const KEPT_QUICK_STATES = 300;

export class Anvil {
  readonly url: string;
  readonly process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.process = process;
  }

  /** Resolves once it listens. Without `blockSeconds` each transaction makes a block. Every address may send. */
  static async start(options: AnvilOptions): Promise<Anvil> {
    const { chainId, port = 0, blockSeconds, isQuick = false, timestampSec, slotsInAnEpoch } = options;
    if (PATH === null) throw new Error(String(NO_ANVIL));
    const args = ['--port', String(port), '--chain-id', String(chainId), '--auto-impersonate', '--base-fee', '0'];
    args.push('--gas-price', '0', '--gas-limit', '100000000', '--hardfork', 'cancun', '--order', 'fifo');
    if (blockSeconds !== undefined) args.push('--block-time', String(blockSeconds));
    args.push('--prune-history', String(isQuick ? KEPT_QUICK_STATES : KEPT_STATES));
    if (isQuick) args.push(...QUICK);
    if (slotsInAnEpoch !== undefined) args.push('--slots-in-an-epoch', String(slotsInAnEpoch));
    if (timestampSec !== undefined) args.push('--timestamp', String(timestampSec));
    // It makes a folder, in the home directory unless it is given one, and a killed process leaves it.
    args.push('--cache-path', temporaryDirectory());
    const child = spawn(PATH, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    // A process that ends by an error leaves no chain behind, which would keep the port.
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    for await (const line of createInterface({ input: child.stdout })) {
      const address = /^Listening on (\S+)$/.exec(line)?.[1];
      if (address === undefined) continue;
      child.stdout.resume();
      return new Anvil(`http://${address}`, child);
    }
    throw new Error('anvil ended before it listened');
  }

  /** It ends with this process, which does not wait for it. */
  unref(): void {
    this.process.unref();
    (this.process.stdout as Socket).unref();
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }
}
