/**
 * Searches the arguments of a read for those with the highest cost. It begins at random ones and climbs: it draws one
 * argument anew, and keeps the change if the exchange then uses more processor time. Seeded; the time is that of all
 * threads of the exchange, minus what it uses without requests.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Route } from '../gateway/http/route.ts';
import { RequestSigner } from '../shared/client/requestSigner.ts';
import { Random } from '../test/support/random.ts';
import type { TestServer } from '../test/support/server.ts';
import { threadSeconds } from './processStat.ts';
import { type Arguments, type Parameter, parametersOf, type Value } from './readArguments.ts';
import type { Known } from './readExchange.ts';
import { median } from './report.ts';

type Worst = {
  /** Milliseconds of processor time per request. */
  readonly costMs: number;
  readonly status: number;
  readonly given: Arguments;
};
type Measured = { readonly costMs: number; readonly status: number };

const SEED = 29;
const STARTS = 10;
const CLIMBS = 10;
const WARM_UPS = 500;
const REQUESTS = 4;
const [LAST_ROUNDS, LAST_REQUESTS] = [3, 12];
/** A batch that takes longer is cut short. */
const LONGEST_MS = 2000;
const [IDLE_LOOKS, IDLE_MS] = [10, 1000];
const MOST_CURSORS = 50;
/** Concurrent requests of a client that asks as often as it may. */
const LOOPS = 8;
const [BURN_MS, ASKED_MS] = [30_000, 20_000];

export class ReadSearch {
  readonly #server: TestServer;
  readonly #known: Known;
  readonly #signer: RequestSigner;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: LOOPS });
  readonly #random = new Random(SEED);
  #idleShare = 0;
  #requests = 0;
  /** Cursors of the read that is measured. */
  #cursors: string[] = [];

  constructor(server: TestServer, known: Known) {
    this.#server = server;
    this.#known = known;
    this.#signer = new RequestSigner(known.credentials);
  }

  /** @param route a route that costs little: code that runs for the first time is slower */
  async start(route: Route): Promise<void> {
    await this.#measure(route, new Map(), WARM_UPS);
    const shares: number[] = [];
    for (let look = 0; look < IDLE_LOOKS; look++) {
      const before = this.#threads();
      await sleep(IDLE_MS);
      shares.push(since(before, this.#threads()) / (IDLE_MS / 1000));
    }
    this.#idleShare = Math.min(...shares);
  }

  close(): void {
    this.#agent.destroy();
  }

  async worstOf(route: Route): Promise<Worst> {
    this.#cursors = [];
    let parameters = parametersOf(route, this.#known, this.#cursors);
    const first = this.#drawn(parameters);
    await this.#measure(route, first, REQUESTS);
    parameters = parametersOf(route, this.#known, this.#cursors);
    let worst = { given: first, ...(await this.#measure(route, first, REQUESTS)) };
    const tried = async (given: Arguments): Promise<void> => {
      const measured = await this.#measure(route, given, REQUESTS);
      if (measured.costMs > worst.costMs) worst = { given, ...measured };
    };
    for (let start = 0; start < STARTS * parameters.length; start++) await tried(this.#drawn(parameters));
    for (let climb = 0; climb < CLIMBS * parameters.length; climb++) {
      const parameter = parameters[this.#random.below(parameters.length)];
      await tried(new Map([...worst.given, [parameter.name, parameter.draw(this.#random)]]));
    }
    const rounds: Measured[] = [];
    for (let round = 0; round < LAST_ROUNDS; round++) {
      rounds.push(await this.#measure(route, worst.given, LAST_REQUESTS));
    }
    const costMs = median(rounds.map((round) => round.costMs));
    return { costMs, status: rounds[0].status, given: worst.given };
  }

  /** The share of a core that a client uses that has asked for a long time as often as it may. */
  async coresOf(route: Route, given: Arguments, perSecond: number): Promise<number> {
    let isOver = false;
    const pauseMs = (1000 * LOOPS) / perSecond;
    const ask = async (): Promise<void> => {
      while (!isOver) {
        const nextMs = performance.now() + pauseMs;
        await this.#send(route, given, this.#requests++);
        await sleep(Math.max(nextMs - performance.now(), 0));
      }
    };
    const loops = Array.from({ length: LOOPS }, ask);
    await sleep(BURN_MS);
    const [before, startedMs] = [this.#threads(), performance.now()];
    await sleep(ASKED_MS);
    const seconds = (performance.now() - startedMs) / 1000;
    const cores = since(before, this.#threads()) / seconds - this.#idleShare;
    isOver = true;
    await Promise.all(loops);
    return cores;
  }

  #drawn(parameters: readonly Parameter[]): Arguments {
    return new Map(parameters.map(({ name, draw }): [string, Value] => [name, draw(this.#random)]));
  }

  /** One request after the other. */
  async #measure(route: Route, given: Arguments, most: number): Promise<Measured> {
    const before = this.#threads();
    const startedMs = performance.now();
    let requests = 0;
    let status = 0;
    while (requests < most && performance.now() - startedMs < LONGEST_MS) {
      status = await this.#send(route, given, this.#requests++);
      requests++;
    }
    // The system's figures for a running thread are a few milliseconds behind.
    await sleep(5);
    const idle = (this.#idleShare * (performance.now() - startedMs)) / 1000;
    return { costMs: (1000 * Math.max(since(before, this.#threads()) - idle, 0)) / requests, status };
  }

  #send(route: Route, given: Arguments, number: number): Promise<number> {
    let path = route.path;
    const query = new URLSearchParams();
    for (const [name, { at }] of given) {
      if (name.startsWith(':')) path = path.replace(name, encodeURIComponent(at?.(number) ?? ''));
      else if (at !== null) query.set(name, at(number));
    }
    const target = query.size === 0 ? path : `${path}?${query}`;
    const isOwn = route.access !== 'public';
    const body = route.method === 'GET' ? '' : bboBody(this.#known);
    const headers = {
      'content-type': 'application/json',
      ...(isOwn ? this.#signer.headers(route.method, target, body) : {}),
    };
    return new Promise((resolve, reject) => {
      const sent = request(this.#server.baseUrl + target, { method: route.method, headers, agent: this.#agent });
      sent.on('error', reject);
      sent.on('response', (response) => {
        let text = '';
        response.on('error', reject);
        response.on('data', (piece: Buffer) => {
          // Enough to find a cursor at the end.
          text = (text + piece.toString('latin1')).slice(-2000);
        });
        response.on('end', () => {
          this.#noteCursor(text);
          resolve(response.statusCode!);
        });
      });
      sent.end(body);
    });
  }

  #noteCursor(text: string): void {
    const found = /"(?:next_)?cursor":"?([\w-]+)/.exec(text)?.[1];
    if (found === undefined || found === 'null' || this.#cursors.length >= MOST_CURSORS) return;
    this.#cursors.push(found);
  }

  #threads(): Map<number, number> {
    return threadSeconds(this.#server.pid!);
  }
}

/** The longest allowed list: this is the only read with a body. */
function bboBody({ markets }: Known): string {
  return JSON.stringify(markets.slice(0, MOST_BBOS).map((market_id) => ({ market_id, outcome_index: 0 })));
}

const MOST_BBOS = 50;

/** Processor time of all threads; a thread that has ended in the meantime counts nothing. */
function since(before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number {
  return [...after].reduce((sum, [id, seconds]) => sum + seconds - (before.get(id) ?? 0), 0);
}

export function shownOf(given: Arguments): string {
  const texts = [...given].filter(([, { at }]) => at !== null).map(([name, { label }]) => `${name} ${label}`);
  return texts.join(', ');
}
