/**
 * The sandbox provider's interface for its partner, the exchange: it makes launches and lists deals. Each request needs
 * the partner's key. With the switches it answers as providers do on bad days.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { ADDRESS_BYTES, tryParseHex } from '../../../shared/base/hex.ts';
import { tryParseUnits, unitsToDecimal } from '../../../shared/base/units.ts';
import type { Desk } from './desk.ts';
import { type Asked, jsonReply, type Reply, tryParseObject } from './reply.ts';
import type { DealRow, RampKind } from './store.ts';
import type { Switches } from './switches.ts';

const MAX_PAGE = 100;
const DAY_MS = 86_400_000;
const REFERENCE = /^[\w-]{1,49}$/;
const CURRENCY = /^[A-Z]{3}$/;
const METHOD = /^[A-Z_]{0,40}$/;

type PartnerApiOptions = {
  readonly desk: Desk;
  readonly apiKey: string;
  /** The address at which customers reach the pages. */
  readonly url: URL;
  /** Origins to which customers are sent back. */
  readonly returnOrigins: readonly string[];
};

export class PartnerApi {
  readonly #desk: Desk;
  readonly #keyHash: Buffer;
  readonly #url: URL;
  readonly #returnOrigins: readonly string[];

  constructor({ desk, apiKey, url, returnOrigins }: PartnerApiOptions) {
    this.#desk = desk;
    this.#keyHash = hash('sha256', apiKey, 'buffer');
    this.#url = url;
    this.#returnOrigins = returnOrigins;
  }

  isPartner({ headers }: Asked): boolean {
    const { authorization = '' } = headers;
    const [, key = ''] = /^Bearer (.+)$/.exec(String(authorization)) ?? [];
    return timingSafeEqual(hash('sha256', key, 'buffer'), this.#keyHash);
  }

  /** @returns null if the answer never comes. */
  answer(asked: Asked): Reply | null {
    if (!this.isPartner(asked)) return jsonReply(401, { error: 'the key is not that of the partner' });
    const { answers } = this.#desk.switches;
    if (answers === 'hanging') return null;
    if (answers === 'errors') return jsonReply(500, { error: 'the provider is down' });
    if (answers === 'garbage') return { status: 200, headers: { 'content-type': 'application/json' }, body: '{"x":' };
    if (asked.method === 'POST' && asked.path === '/v1/launches') return this.#launch(asked.body);
    if (asked.method === 'GET' && asked.path === '/v1/deals') return this.#list(asked.query, answers === 'empty');
    if (asked.method === 'GET' && asked.path === '/v1/statements') return this.#statement(asked.query);
    return jsonReply(404, { error: 'there is no such route' });
  }

  #launch(body: string): Reply {
    const { kind, reference, wallet, amount, currency, method, return_url } = tryParseObject(body) ?? {};
    const amountMicro = amount === null ? null : tryParseUnits(String(amount));
    const refused = (field: string) => jsonReply(400, { error: 'the field is not as it has to be', field });
    if (!isKind(kind)) return refused('kind');
    if (!isLike(REFERENCE, reference)) return refused('reference');
    if (!isAddress(wallet)) return refused('wallet');
    if (amountMicro !== null && !(amountMicro > 0)) return refused('amount');
    if (!isLike(CURRENCY, currency)) return refused('currency');
    if (!isLike(METHOD, method)) return refused('method');
    if (return_url !== null && !this.#isReturn(return_url)) return refused('return_url');
    // The URL as browsers write it: none of its characters means anything in a header.
    const returnUrl = return_url === null ? null : new URL(String(return_url)).href;
    const wish = { kind, reference, wallet: wallet.toLowerCase(), amountMicro, currency, method, returnUrl };
    const { token, expiresAtMs } = this.#desk.launch(wish);
    return jsonReply(201, { launch_url: new URL(`/launch/${token}`, this.#url).href, expires_at_ms: expiresAtMs });
  }

  /** Pages, newest first: `before` is the number that the previous page names. */
  #list(query: URLSearchParams, isEmpty: boolean): Reply {
    const [kind, reference] = [query.get('kind'), query.get('reference')];
    const before = Number(query.get('before') ?? Number.MAX_SAFE_INTEGER);
    const limit = Number(query.get('limit') ?? 1);
    const isRight = isKind(kind) && isLike(REFERENCE, reference) && Number.isSafeInteger(before);
    if (!isRight || !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE)) {
      return jsonReply(400, { error: 'a parameter is not as it has to be' });
    }
    const { store, clock, switches, rail } = this.#desk;
    const deals = isEmpty ? [] : store.dealsOf(reference, kind, before, clock.nowMs(), limit);
    const next_before = deals.length === limit ? deals.at(-1)!.sequence : null;
    return jsonReply(200, { deals: deals.map((deal) => listedAs(deal, switches, rail.address)), next_before });
  }

  /** A page of a day in UTC, oldest first: `after` is the number that the previous page names. */
  #statement(query: URLSearchParams): Reply {
    const startMs = Date.parse(`${query.get('day')}T00:00:00.000Z`);
    const [after, limit] = [Number(query.get('after') ?? 0), Number(query.get('limit') ?? MAX_PAGE)];
    const isRight = Number.isSafeInteger(startMs) && Number.isSafeInteger(after);
    if (!isRight || !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE)) {
      return jsonReply(400, { error: 'a parameter is not as it has to be' });
    }
    const { store, switches } = this.#desk;
    const deals = store.dealsSettled(startMs, startMs + DAY_MS, after, limit);
    const next_after = deals.length === limit ? deals.at(-1)!.sequence : null;
    const rows = deals.map((deal) => statedAs(deal, switches));
    if (after === 0 && switches.statements === 'omitting') rows.shift();
    if (after === 0 && switches.statements === 'inventing') rows.push(INVENTED);
    return jsonReply(200, { rows, next_after });
  }

  #isReturn(value: unknown): boolean {
    if (typeof value !== 'string' || value.length > 2000 || !URL.canParse(value)) return false;
    return this.#returnOrigins.includes(new URL(value).origin);
  }
}

function listedAs(deal: DealRow, { listedStatus, listedHash, listedNetwork }: Switches, own: string): object {
  const isSale = deal.kind === 'offramp';
  return {
    id: deal.id,
    reference: deal.reference,
    status: listedStatus === '' ? deal.status : listedStatus,
    asset: 'usdc',
    network: listedNetwork,
    amount: { value: unitsToDecimal(deal.amount_micro), currency: 'USDC' },
    to_address: isSale ? own : deal.wallet,
    from_address: isSale ? deal.wallet : own,
    tx_hash: isSale && listedHash !== '' ? listedHash : deal.tx_hash,
    created_at_ms: deal.agreed_ms,
    updated_at_ms: deal.updated_ms,
    deadline_at_ms: deal.deadline_ms,
  };
}

function statedAs(deal: DealRow, { statements }: Switches) {
  const { id, reference, kind, amount_micro } = deal;
  const isBack = kind === 'onramp' && (statements === 'refunding' || statements === 'charging_back');
  const back = statements === 'refunding' ? 'refunded' : 'charged_back';
  const settled = deal.status === 'success' ? 'settled' : 'refunded';
  const amount = unitsToDecimal(statements === 'altering' ? amount_micro + 1 : amount_micro);
  return { id, reference, kind, status: isBack ? back : settled, amount, currency: 'USDC' };
}

const INVENTED: ReturnType<typeof statedAs> = {
  ...{ id: 'a-deal-that-nobody-knows', reference: 'nobody', kind: 'onramp', status: 'settled' },
  ...{ amount: '12', currency: 'USDC' },
};

function isKind(value: unknown): value is RampKind {
  return value === 'onramp' || value === 'offramp';
}

function isLike(pattern: RegExp, value: unknown): value is string {
  return typeof value === 'string' && pattern.test(value);
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && tryParseHex(value, ADDRESS_BYTES, new Uint8Array(ADDRESS_BYTES), 0);
}
