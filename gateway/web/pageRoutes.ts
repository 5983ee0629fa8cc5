/** The page: one document for every path that it shows, and the files that it loads (gateway/web/). */
import { UUID } from '../../shared/api/fields.ts';
import { OAUTH_PARAMS } from '../../shared/api/sessions.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Call } from '../http/call.ts';
import { okFile, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { DocumentName, PageFiles } from './pageFiles.ts';

const FILE = { method: 'GET', access: 'public', limit: 'page', probe: true, isFile: true } as const;
const HTML = { answers: { 200: { type: 'string' } }, contentType: 'text/html' } as const;

const SHOW_PAGE = { ...FILE, ...HTML, path: '/', summary: 'The page for people.' } as const satisfies RouteSpec;

const SHOW_EVENT_PAGE = {
  ...FILE,
  ...HTML,
  path: '/events/:slug',
  params: { slug: { type: 'string', examples: ['who-wins'] } },
  hasEncodedParams: true,
  summary: 'The page, showing an event.',
} as const satisfies RouteSpec;

const SHOW_MARKET_PAGE = {
  ...FILE,
  ...HTML,
  path: '/markets/:id',
  params: { id: UUID },
  summary: 'The page, showing a market.',
} as const satisfies RouteSpec;

const SHOW_PORTFOLIO_PAGE = {
  ...FILE,
  ...HTML,
  path: '/portfolio',
  summary: 'The page, showing the account.',
} as const satisfies RouteSpec;

const SHOW_ACTIVITY_PAGE = {
  ...FILE,
  ...HTML,
  path: '/activity',
  summary: 'The page, showing what happened to the account.',
} as const satisfies RouteSpec;

const SHOW_ACCOUNT_PAGE = {
  ...FILE,
  ...HTML,
  path: '/account',
  summary: 'The page, showing the settings, wallets and sessions of the account.',
} as const satisfies RouteSpec;

const SHOW_CASH_PAGE = {
  ...FILE,
  ...HTML,
  path: '/cash',
  summary: 'The page, cashing in and out.',
} as const satisfies RouteSpec;

const SHOW_LEADERS_PAGE = {
  ...FILE,
  ...HTML,
  path: '/leaders',
  summary: 'The page, showing the leaderboard.',
} as const satisfies RouteSpec;

const SHOW_CALLBACK_PAGE = {
  ...FILE,
  ...HTML,
  path: '/auth/callback/:provider',
  params: OAUTH_PARAMS,
  summary: 'The page, to which a provider sends the browser back after a sign-in.',
} as const satisfies RouteSpec;

const SHOW_OPERATIONS_PAGE = {
  ...FILE,
  ...HTML,
  path: '/ops',
  atAdminDoor: true,
  summary: 'The page of the people who run the exchange.',
} as const satisfies RouteSpec;

const LOAD_FILE = {
  ...FILE,
  path: '/assets/:file',
  params: { file: { type: 'string', examples: ['main.js'] } },
  summary: 'A file of the page; its name changes with its content.',
  answers: { 200: { type: 'string' } },
  contentType: 'text/javascript',
  errors: ['PATH_NOT_FOUND'],
} as const satisfies RouteSpec;

export function pageRoutes(files: PageFiles): Route[] {
  const show = (name: DocumentName) => {
    return async (call: Call): Promise<void> => okFile(call, await files.document(name), call.headers.acceptEncoding);
  };
  const showPage = show('trading');
  return [
    route(SHOW_PAGE, showPage),
    route(SHOW_EVENT_PAGE, showPage),
    route(SHOW_MARKET_PAGE, showPage),
    route(SHOW_PORTFOLIO_PAGE, showPage),
    route(SHOW_ACTIVITY_PAGE, showPage),
    route(SHOW_ACCOUNT_PAGE, showPage),
    route(SHOW_CASH_PAGE, showPage),
    route(SHOW_LEADERS_PAGE, showPage),
    route(SHOW_CALLBACK_PAGE, showPage),
    route(SHOW_OPERATIONS_PAGE, show('operations')),
    route(LOAD_FILE, (call) => loadFile(call, files)),
  ];
}

async function loadFile(call: CallOf<typeof LOAD_FILE>, files: PageFiles): Promise<void> {
  const file = await files.file(call.params.file);
  if (file === undefined) refuse(call, { row: ERRORS.PATH_NOT_FOUND });
  else okFile(call, file, call.headers.acceptEncoding);
}
