/**
 * Paths of theirs that have no counterpart at the exchange. Lists of rewards are empty, because there are none; a path
 * that would have to do something answers with an error of their shape.
 */
import type { Auth } from './auth.ts';
import { type Asked, pageOf, Refusal, type Route } from './reply.ts';

const MISSING: readonly (readonly [Route['method'], string])[] = [
  ['POST', '/auth/readonly-api-key'],
  ['GET', '/auth/readonly-api-keys'],
  ['DELETE', '/auth/readonly-api-key'],
  ['GET', '/auth/validate-readonly-api-key'],
  ['POST', '/auth/builder-api-key'],
  ['GET', '/auth/builder-api-key'],
  ['DELETE', '/auth/builder-api-key'],
  ['GET', '/builder/trades'],
  ['GET', '/fees/builder-fees/:id'],
  ['GET', '/live-activity/events/:id'],
  ['GET', '/markets/live-activity/:id'],
  ['POST', '/rfq/request'],
  ['DELETE', '/rfq/request'],
  ['GET', '/rfq/data/requests'],
  ['POST', '/rfq/quote'],
  ['DELETE', '/rfq/quote'],
  ['POST', '/rfq/request/accept'],
  ['POST', '/rfq/quote/approve'],
  ['GET', '/rfq/data/requester/quotes'],
  ['GET', '/rfq/data/quoter/quotes'],
  ['GET', '/rfq/data/best-quote'],
  ['GET', '/rfq/config'],
];
/** Nothing is earned by resting orders here. */
const PAGES = ['/rewards/user', '/rewards/user/markets', '/rewards/markets/current', '/rewards/markets/:id'] as const;
const PAGE = 100;

export function counterpartRoutes(auth: Auth): readonly Route[] {
  const ofAccount = (answer: (asked: Asked) => unknown) => (asked: Asked) => {
    auth.key(asked);
    return answer(asked);
  };
  const empty = ({ query }: Asked): object => pageOf([], query, PAGE);
  return [
    ...PAGES.map((path): Route => {
      return { method: 'GET', path, answer: path.startsWith('/rewards/user') ? ofAccount(empty) : empty };
    }),
    { method: 'GET', path: '/rewards/user/total', answer: ofAccount(() => []) },
    { method: 'GET', path: '/rewards/user/percentages', answer: ofAccount(() => ({})) },
    { method: 'GET', path: '/order-scoring', answer: ofAccount(() => ({ scoring: false })) },
    {
      ...{ method: 'POST', path: '/orders-scoring' },
      answer: ofAccount(({ body }) => Object.fromEntries(textsIn(body).map((id) => [id, false]))),
    },
    ...MISSING.map((line): Route => {
      const [method, path] = line;
      return {
        ...{ method, path },
        answer: () => {
          throw new Refusal(501, `not implemented: ${method} ${path} has no counterpart at this exchange`);
        },
      };
    }),
  ];
}

function textsIn(body: string): readonly string[] {
  try {
    const ids: unknown = JSON.parse(body);
    if (Array.isArray(ids)) return ids.filter((id) => typeof id === 'string');
  } catch {
    // Falls through: the refusal is the same.
  }
  throw new Refusal(400, 'Invalid payload: expected a list of ids');
}
