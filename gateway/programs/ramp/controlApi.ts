/**
 * Lets tests and demos use the sandbox provider without a person at its page: they play the customer, move its clock,
 * set its switches, and read its books. Each request needs the partner's key; without RAMP_CONTROL none of this exists.
 */
import type { Clock } from '../../../shared/base/clock.ts';
import { tryParseUnits } from '../../../shared/base/units.ts';
import type { Desk } from './desk.ts';
import { type Asked, jsonReply, type Reply, tryParseObject } from './reply.ts';
import { isCount } from './switches.ts';

const MAX_STEP_MS = 366 * 86_400_000;

/** The system's clock, moved ahead. */
export class MovedClock implements Clock {
  readonly #clock: Clock;
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nowMs(): number {
    return this.#clock.nowMs() + this.#aheadMs;
  }

  advance(ms: number): void {
    this.#aheadMs += ms;
  }
}

type Control = {
  readonly desk: Desk;
  readonly clock: MovedClock;
  /** Settles and sends everything that is due now, and resolves when that is done. */
  readonly step: () => Promise<void>;
};

export async function answerControl({ desk, clock, step }: Control, asked: Asked): Promise<Reply> {
  const fields = tryParseObject(asked.body) ?? {};
  const [route] = [`${asked.method} ${asked.path}`];
  if (route === 'GET /control/switches') return jsonReply(200, desk.switches);
  if (route === 'PUT /control/switches') {
    const switches = desk.switch(fields);
    return switches === null ? wrong('there is no such switch or position') : jsonReply(200, switches);
  }
  if (route === 'POST /control/clock') {
    const { advance_ms: ms } = fields;
    if (!isCount(ms, MAX_STEP_MS)) return wrong('advance_ms');
    clock.advance(ms);
    return jsonReply(200, { now_ms: clock.nowMs() });
  }
  if (route === 'POST /control/step') {
    await step();
    return jsonReply(200, { now_ms: clock.nowMs() });
  }
  if (route === 'POST /control/customer') return playCustomer(desk, fields);
  if (route === 'GET /control/books') return jsonReply(200, await booksOf(desk));
  return jsonReply(404, { error: 'there is no such route' });
}

/** Opens a launch URL as its customer and agrees. */
async function playCustomer(desk: Desk, fields: Readonly<Record<string, unknown>>): Promise<Reply> {
  const { launch_url: url, amount, method } = fields;
  const token = typeof url === 'string' ? /\/launch\/([0-9a-f]{64})$/.exec(url)?.[1] : undefined;
  const visitor = token === undefined ? null : desk.enter(token);
  if (visitor === null) return jsonReply(410, { error: 'the launch URL is used, too old or unknown' });
  const visit = desk.visit(visitor)!;
  const wished = amount === undefined ? visit.launch.amount_micro : tryParseUnits(String(amount));
  const deal = await desk.agree(visit, wished ?? 0, typeof method === 'string' ? method : visit.launch.method);
  if (typeof deal === 'string') return jsonReply(409, { error: deal });
  return jsonReply(201, { transaction_id: deal.id, status: deal.status });
}

async function booksOf({ store, rail }: Desk): Promise<object> {
  return {
    wallet: rail.address,
    usdc_micro: await rail.balanceMicro(),
    promised_micro: store.promisedMicro(),
    taken_micro: store.bankMicro('taken'),
    given_back_micro: store.bankMicro('given_back'),
    paid_out_micro: store.bankMicro('paid_out'),
  };
}

function wrong(error: string): Reply {
  return jsonReply(400, { error });
}
