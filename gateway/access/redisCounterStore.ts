/**
 * Counts for several gateways in one Redis (5 or later): the same sliding window as in process, a list of times per
 * subject. A script decides, so that checking and counting are one step, by the clock of Redis, so that gateways need
 * not agree on theirs.
 *
 * Owner: the gateway thread.
 *
 *   answering ──no reply within `answerWithinMs`, an error, connection lost──► silent
 *       ▲                                                                      │ every question: 'unavailable' at once
 *       └──────────────────a late reply, or a probe is counted──────────────────┘
 *
 * Invariants:
 *   REDISCOUNTERS-1  A question is answered within `answerWithinMs` of this thread's running time, by Redis or by
 *                    'unavailable'. No question is sent while silent, so none queue up for a Redis that hangs.
 *   REDISCOUNTERS-2  Every returned promise resolves; none rejects.
 *   REDISCOUNTERS-3  A silent connection is closed after IDLE_MS and opened again, as long as the process lives.
 *   REDISCOUNTERS-4  If Redis refuses to count (a replica: READONLY; MISCONF, LOADING, OOM), the connection is closed
 *                    at once and opened again. The state is answering only once Redis has counted.
 */

import { createHash } from 'node:crypto';
import { createClient, ErrorReply } from '@redis/client';
import type { Limit } from '../base/classes.ts';
import type { Logger } from '../base/log.ts';
import type { Count, Counted, CounterStore, Quota } from './counterStore.ts';

/** Far more than a nearby Redis needs, and short enough for an order to wait. */
const ANSWER_WITHIN_MS = 50;
/** Pings prevent a working connection from being idle for that long. */
const PING_MS = 1000;
const IDLE_MS = 3000;
const RECONNECT_MS = 250;
const PREFIX = 'exchange:limit:';
/**
 * The subject of no limit. It is counted to find out whether Redis counts at all, and so is always admitted: only the
 * write matters.
 */
const PROBED: Quota = { subject: 'probe', limit: { requests: 1_000_000_000, windowSec: 1 } };

type Client = ReturnType<typeof clientAt>;

/**
 * KEYS: subjects. ARGV: '1' to count the request, then limit and window in milliseconds of each subject. Returns four
 * numbers per subject: 1 if it is admitted, the remaining requests, the milliseconds until the whole quota is free
 * again, and those until the next request may come. A call forgets a bounded number of times, which can only understate
 * the remaining requests. When the clock was set back, times are forgotten, so that subjects are not locked out for as
 * long as the step was.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {}
for i, key in ipairs(KEYS) do
  local limit, window = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  for _ = 1, 1000 do
    local oldest = redis.call('LINDEX', key, 0)
    if not oldest then break end
    local age = now - tonumber(oldest)
    if age < window and age > -window then break end
    redis.call('LPOP', key)
  end
  local count = redis.call('LLEN', key)
  local admitted = count < limit
  if admitted and ARGV[1] == '1' then
    redis.call('RPUSH', key, now)
    redis.call('PEXPIRE', key, window)
    count = count + 1
  end
  local function wait(index)
    local at = redis.call('LINDEX', key, index)
    return at and tonumber(at) + window - now or 0
  end
  answer[#answer + 1] = admitted and 1 or 0
  answer[#answer + 1] = math.max(limit - count, 0)
  answer[#answer + 1] = wait(-1)
  answer[#answer + 1] = count < limit and 0 or wait(count - limit)
end
return answer
`;
const SCRIPT_SHA1 = createHash('sha1').update(SCRIPT).digest('hex');

export class RedisCounterStore implements CounterStore {
  readonly #url: string;
  readonly #log: Logger;
  readonly #answerWithinMs: number;
  #client: Client;
  #state: 'connecting' | 'answering' | 'silent' = 'connecting';
  #reopening: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** Connects now, and again whenever the connection is lost. */
  constructor(url: string, log: Logger, answerWithinMs = ANSWER_WITHIN_MS) {
    this.#url = url;
    this.#log = log;
    this.#answerWithinMs = answerWithinMs;
    this.#client = this.#open();
  }

  #open(): Client {
    const client = clientAt(this.#url, this.#answerWithinMs);
    client.on('ready', () => this.#probe());
    client.on('ping-interval', () => this.#probe());
    client.on('error', (error) => {
      if (client === this.#client && !client.isReady) this.#fallSilent(error);
    });
    // This fails only if the store is closed before the first connection.
    client.connect().catch((error) => this.#fallSilent(error));
    return client;
  }

  /** REDISCOUNTERS-4: a Redis that does not count would still answer a ping. */
  #probe(): void {
    if (this.#state !== 'answering') void this.#ask('1', [PROBED]);
  }

  /** REDISCOUNTERS-4. By now the host name may lead to another Redis. */
  #reopen(): void {
    if (this.#reopening !== undefined || this.#isClosed) return;
    this.#client.destroy();
    this.#reopening = setTimeout(() => {
      this.#reopening = undefined;
      this.#client = this.#open();
    }, RECONNECT_MS);
  }

  /** False while Redis cannot decide. */
  get isAnswering(): boolean {
    return this.#state === 'answering';
  }

  count(subject: string, limit: Limit, nowMs: number): Counted | Promise<Counted> {
    if (this.#state !== 'answering') return 'unavailable';
    return this.#ask('1', [{ subject, limit }]).then((numbers) =>
      numbers === null ? 'unavailable' : countAt(numbers, 0, nowMs),
    );
  }

  peek(quotas: readonly Quota[], nowMs: number): 'unavailable' | Promise<readonly Count[] | 'unavailable'> {
    if (this.#state !== 'answering') return 'unavailable';
    return this.#ask('0', quotas).then((numbers) =>
      numbers === null ? 'unavailable' : quotas.map((_, index) => countAt(numbers, index, nowMs)),
    );
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#reopening);
    if (this.#reopening === undefined) this.#client.destroy();
  }

  /** Null if there is no answer in time. */
  #ask(mode: string, quotas: readonly Quota[]): Promise<number[] | null> {
    return new Promise((resolve) => {
      const giveUp = (): void => {
        resolve(null);
        this.#fallSilent(new Error(`no answer within ${this.#answerWithinMs} ms`));
      };
      // If this thread was busy, an answer may be waiting in the socket, which is read before an immediate runs.
      let immediate: NodeJS.Immediate | undefined;
      const timer = setTimeout(() => {
        immediate = setImmediate(giveUp);
      }, this.#answerWithinMs);
      const settle = (numbers: number[] | null): void => {
        clearTimeout(timer);
        clearImmediate(immediate);
        resolve(numbers);
      };
      this.#run(mode, quotas).then(
        (numbers) => {
          this.#answers();
          settle(numbers);
        },
        (error) => {
          settle(null);
          this.#fallSilent(error);
          if (error instanceof ErrorReply) this.#reopen();
        },
      );
    });
  }

  async #run(mode: string, quotas: readonly Quota[]): Promise<number[]> {
    const args = [String(quotas.length), ...quotas.map(({ subject }) => PREFIX + subject), mode];
    for (const { limit } of quotas) args.push(String(limit.requests), String(limit.windowSec * 1000));
    try {
      return await this.#client.sendCommand<number[]>(['EVALSHA', SCRIPT_SHA1, ...args]);
    } catch (error) {
      // A newly started Redis does not know the script.
      if (!(error instanceof ErrorReply) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.#client.sendCommand<number[]>(['EVAL', SCRIPT, ...args]);
    }
  }

  #answers(): void {
    if (this.#state === 'answering') return;
    this.#state = 'answering';
    this.#log.info('rate limits are counted in Redis');
  }

  #fallSilent(error: unknown): void {
    if (this.#state === 'silent') return;
    this.#state = 'silent';
    this.#log.error(
      { err: error },
      'Redis does not count: limited requests are refused, except cancels and heartbeats',
    );
  }
}

function clientAt(url: string, answerWithinMs: number) {
  return createClient({
    url,
    disableOfflineQueue: true,
    pingInterval: PING_MS,
    socket: {
      connectTimeout: IDLE_MS,
      // A connection is not idle while a question on it may still be answered.
      socketTimeout: Math.max(IDLE_MS, answerWithinMs),
      reconnectStrategy: () => RECONNECT_MS,
    },
  });
}

function countAt(numbers: readonly number[], index: number, nowMs: number): Count {
  const [admitted, remaining, resetInMs, retryInMs] = numbers.slice(4 * index, 4 * index + 4);
  return { allowed: admitted === 1, remaining: remaining, resetMs: nowMs + resetInMs, retryMs: nowMs + retryInMs };
}
