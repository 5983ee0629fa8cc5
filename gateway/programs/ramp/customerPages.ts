/**
 * Answers the customers on the sandbox provider's pages. The launch URL makes a browser the customer by a cookie; from
 * then on the token is worthless.
 *
 * Invariant:
 *   CUSTOMER-1  A change has to come from a form of this very server: the cookie alone is not enough.
 */
import { tryParseUnits } from '../../../shared/base/units.ts';
import type { Desk } from './desk.ts';
import { agreePage, dealPage, METHODS, notePage, switchesOf, switchesPage, type Wrong } from './pages.ts';
import { type Asked, htmlReply, type Reply, redirectTo } from './reply.ts';
import { USUAL } from './switches.ts';

const COOKIE = 'ramp_visitor';
const COOKIE_SEC = 86_400;
const WRONG: Readonly<Record<'amount' | 'float' | 'closed', string>> = {
  amount: 'An amount is from 1 to 1000000, with at most 6 decimals.',
  float: 'The provider does not have so much USDC now. Try a smaller amount.',
  closed: 'This was agreed to before.',
};

type Visit = NonNullable<ReturnType<Desk['visit']>>;

export class CustomerPages {
  readonly #desk: Desk;
  readonly #hasSwitches: boolean;

  constructor(desk: Desk, hasSwitches: boolean) {
    this.#desk = desk;
    this.#hasSwitches = hasSwitches;
  }

  async answer(asked: Asked): Promise<Reply> {
    const { method, path } = asked;
    if (method === 'GET' && path.startsWith('/launch/')) return this.#enter(path.slice('/launch/'.length));
    if (method === 'POST' && !isFromHere(asked)) return htmlReply(403, notePage('Not from here', 'Open it again.'));
    if (path === '/switches' && this.#hasSwitches) return this.#switches(asked);
    const visit = this.#desk.visit(cookieIn(asked));
    if (visit === null) return gone();
    if (method === 'GET' && path === '/customer') return this.#page(visit);
    if (method === 'POST' && path === '/customer/agree') return this.#agree(visit, new URLSearchParams(asked.body));
    if (method === 'POST' && path === '/customer/abandon') return redirectTo(visit.launch.return_url ?? '/customer');
    return htmlReply(404, notePage('Not found', 'There is no such page.'));
  }

  #enter(token: string): Reply {
    const visitor = this.#desk.enter(token);
    if (visitor === null) return gone();
    const cookie = `${COOKIE}=${visitor}; Path=/; Max-Age=${COOKIE_SEC}; HttpOnly; SameSite=Lax`;
    return redirectTo('/customer', { 'set-cookie': cookie });
  }

  #page({ launch, deal }: Visit): Reply {
    const page = deal === undefined ? agreePage(launch, null, { amount: '', method: '' }) : dealPage(launch, deal);
    return htmlReply(200, page);
  }

  async #agree(visit: Visit, form: URLSearchParams): Promise<Reply> {
    const { launch } = visit;
    const typed = { amount: (form.get('amount') ?? '').trim(), method: form.get('method') ?? '' };
    const refused = (status: number, wrong: Wrong) => htmlReply(status, agreePage(launch, wrong, typed));
    if (METHODS[launch.kind][typed.method] === undefined) {
      return refused(400, { field: 'method', message: 'Choose one of these.' });
    }
    const deal = await this.#desk.agree(visit, tryParseUnits(typed.amount), typed.method);
    if (deal === 'closed') return redirectTo('/customer');
    if (typeof deal === 'string')
      return refused(deal === 'amount' ? 400 : 409, { field: 'amount', message: WRONG[deal] });
    // A sale goes on at the exchange, where the customer sends the USDC.
    return redirectTo(launch.kind === 'offramp' ? (launch.return_url ?? '/customer') : '/customer');
  }

  #switches({ method, body }: Asked): Reply {
    if (method === 'GET') return htmlReply(200, switchesPage(this.#desk.switches, ''));
    const switches = this.#desk.switch(switchesOf(new URLSearchParams(body), USUAL));
    if (switches === null) return htmlReply(400, switchesPage(this.#desk.switches, 'One of these is not possible.'));
    return htmlReply(200, switchesPage(switches, 'Set.'));
  }
}

function gone(): Reply {
  return htmlReply(410, notePage('This link was used', 'Links are good once and for five minutes. Ask for a new one.'));
}

/** CUSTOMER-1. Browsers send both headers with forms; programs that play a browser may send either. */
function isFromHere({ headers }: Asked): boolean {
  const [site, origin] = [headers['sec-fetch-site'], headers['origin']];
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && URL.canParse(String(origin)) && new URL(String(origin)).host === headers['host'];
}

function cookieIn({ headers }: Asked): string {
  const cookies = String(headers['cookie'] ?? '').split(/; */);
  return cookies.find((cookie) => cookie.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1) ?? '';
}
