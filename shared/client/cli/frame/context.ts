/** A command's access to the exchange, for the account that it acts for, and to the terminal. */
import { readFileSync } from 'node:fs';
import type { Outcome } from '../../../base/codes.ts';
import { errorCode } from '../../../base/thrown.ts';
import { AdminClient } from '../../admin.ts';
import { ExchangeClient } from '../../client.ts';
import { OrderSigner } from '../../orderSigner.ts';
import { RequestSigner } from '../../requestSigner.ts';
import { ExchangeStream } from '../../stream/exchangeStream.ts';
import { Access, type AccessFlags, type Account } from './access.ts';
import { accountIdOf } from './accountNames.ts';
import { UsageError } from './errors.ts';
import { eventIdOf, marketIdOf } from './marketNames.ts';
import { outcomeOf } from './outcomeNames.ts';
import { readInput } from './prompt.ts';
import { type Paint, paintFor, type Terminal } from './terminal.ts';
import { printableLines, withoutMark } from './text.ts';

export type GlobalFlags = AccessFlags & { readonly json: boolean; readonly timeoutMs: number };

/** Stands for standard input. */
const STANDARD = '-';

/** The finders for things that an operator names. */
type Operated = {
  readonly marketId: (given: string) => Promise<string>;
  readonly eventId: (given: string) => Promise<string>;
  readonly accountId: (given: string) => Promise<string>;
  readonly outcome: (marketId: string, given: string) => Promise<Outcome>;
};

export class Context {
  readonly terminal: Terminal;
  readonly isJson: boolean;
  readonly #flags: GlobalFlags;
  readonly #makesProfile: boolean;
  #access: Access | undefined;
  #saidWhere: string | undefined;
  #account: Promise<Account | null> | undefined;

  constructor(terminal: Terminal, flags: GlobalFlags, makesProfile: boolean) {
    this.terminal = terminal;
    this.isJson = flags.json;
    this.#flags = flags;
    this.#makesProfile = makesProfile;
  }

  /** Settings are read only by the commands that need them, so other commands work even if they are damaged. */
  get access(): Access {
    this.#access ??= new Access(this.terminal, this.#flags, this.#makesProfile);
    return this.#access;
  }

  get timeoutMs(): number {
    return this.#flags.timeoutMs;
  }

  get baseUrl(): string {
    return this.access.baseUrl;
  }

  /** The addresses that were tried; empty before settings were read. */
  get addresses(): readonly string[] {
    return this.#access?.baseUrls ?? [];
  }

  get paint(): Paint {
    return paintFor(this.terminal.out, this.terminal.env);
  }

  /** The client for requests that only an account may make. */
  async client(): Promise<ExchangeClient> {
    return this.#clientOf(await this.access.account());
  }

  /** The client for public reads: an account's reads count on its own limit. */
  async reader(): Promise<ExchangeClient> {
    return this.#clientOf(await this.#accountOrNone());
  }

  /** The id of a market that a person has named. */
  async marketId(given: string): Promise<string> {
    return marketIdOf(await this.reader(), given);
  }

  async eventId(given: string): Promise<string> {
    return eventIdOf(await this.reader(), given);
  }

  /** The outcome of this market that a person has named. */
  async outcome(marketId: string, given: string): Promise<Outcome> {
    return outcomeOf(given, (await (await this.reader()).market(marketId)).outcomes);
  }

  /** The client without an account, even if one is stored. */
  publicClient(): ExchangeClient {
    return this.#clientOf(null);
  }

  async stream({ isPrivate }: { isPrivate: boolean }): Promise<ExchangeStream> {
    const account = isPrivate ? await this.access.account() : null;
    const { baseUrls } = this.access;
    if (account === null) return new ExchangeStream({ baseUrl: baseUrls });
    const { session, credentials } = account;
    if (session !== undefined) return new ExchangeStream({ baseUrl: baseUrls, session });
    return new ExchangeStream({ baseUrl: baseUrls, signer: new RequestSigner(credentials, this.terminal.clock) });
  }

  admin(): AdminClient {
    const { timeoutMs } = this.#flags;
    const { baseUrls, token, by } = this.access.operated();
    return new AdminClient({ baseUrl: baseUrls, token, timeoutMs, onChange: (origin) => this.#sayWhere(origin, by) });
  }

  /** Finds the things that an operator names, at the exchange that the command changes. */
  get operated(): Operated {
    const market = new ExchangeClient({ baseUrl: this.access.operated().baseUrls, timeoutMs: this.#flags.timeoutMs });
    return {
      marketId: (given) => marketIdOf(market, given),
      eventId: (given) => eventIdOf(market, given),
      accountId: (given) => accountIdOf(this.admin(), given),
      outcome: async (marketId, given) => outcomeOf(given, (await market.market(marketId)).outcomes),
    };
  }

  /** Before a change, shows a person which exchange is changed, and how it was found. */
  #sayWhere(origin: string, by: string | null): void {
    const where = by === null ? `at ${origin}` : `at ${origin} (${by})`;
    if (this.#saidWhere !== where) this.note(where);
    this.#saidWhere = where;
  }

  /** The private key with which this account signs. */
  async privateKey(): Promise<string> {
    const account = await this.#accountOrNone();
    return this.access.privateKey(account?.session?.user.linked_wallets ?? (await this.#walletsOfKey(account)));
  }

  async signer(client: ExchangeClient): Promise<OrderSigner> {
    const [privateKey, domain] = [await this.privateKey(), await client.signingDomain()];
    return new OrderSigner(privateKey, domain);
  }

  /** The text of a file, or of standard input for `-`. */
  async read(file: string): Promise<string> {
    if (file === STANDARD) return withoutMark(await readInput(this.terminal));
    try {
      return withoutMark(readFileSync(file, 'utf8'));
    } catch (error) {
      throw new UsageError(`${file} cannot be read (${errorCode(error)})`);
    }
  }

  async readJson(file: string): Promise<unknown> {
    const text = await this.read(file);
    try {
      return JSON.parse(text);
    } catch {
      throw new UsageError(`${file === STANDARD ? 'standard input' : file} is not JSON`);
    }
  }

  /** A note for the person beside the answer; a program that reads JSON does not get it. */
  note(line: string): void {
    if (!this.isJson) this.terminal.err.write(`${printableLines(line)}\n`);
  }

  /** A demo account signs for itself without a question. */
  async #walletsOfKey(account: Account | null): Promise<readonly string[]> {
    if (account === null || this.access.privateKeyOrNone() !== null) return [];
    return (await this.#clientOf(account).account.profile()).linked_wallets;
  }

  #accountOrNone(): Promise<Account | null> {
    this.#account ??= this.access.accountOrNone();
    return this.#account;
  }

  #clientOf(account: Account | null): ExchangeClient {
    const { clock, interrupted: signal } = this.terminal;
    const { timeoutMs } = this.#flags;
    const { session, credentials } = account ?? {};
    return new ExchangeClient({ baseUrl: this.access.baseUrls, session, credentials, timeoutMs, clock, signal });
  }
}
