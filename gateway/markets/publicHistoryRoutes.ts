/** The public history over HTTP: its days, the manifest of each, and its files (RULES.md 13.15). */
import { DAY, HISTORY_FILE, HISTORY_MANIFEST, PUBLIC_HISTORY } from '../../shared/api/publicHistory.ts';
import { described } from '../../shared/api/schema.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { Call } from '../http/call.ts';
import { JSON_TYPE } from '../http/httpTransport.ts';
import { MARKET_ID_PARAM } from '../http/pathParams.ts';
import { okKept } from '../http/pieces.ts';
import { refuse } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { RouteSpec } from '../http/spec.ts';
import { okStored } from '../http/storedFiles.ts';
import { MANIFEST, type PublicHistory } from './publicHistory.ts';

type HistoryDeps = {
  /** Null: no history is written. */
  readonly publicHistory: PublicHistory | null;
  readonly progress: Pick<Progress, 'historyLag' | 'shards'>;
  readonly sharedAnswers: SharedAnswers;
  readonly clock: Clock;
};

const KEPT_MS = 5000;
const IMMUTABLE = 'public, max-age=31536000, immutable';
/** An operator may write a day anew whose start was missing. */
const FOR_AN_HOUR = 'public, max-age=3600';

const READ = { method: 'GET', access: 'public' } as const;
const STORED = { ...READ, limit: 'market', hasEntityTag: true } as const;
const BYTES = {
  ...STORED,
  contentType: 'application/octet-stream',
  hasForeignHeaders: true,
  errors: ['NO_HISTORY', 'RESOURCE_NOT_FOUND', 'RANGE_NOT_SATISFIABLE', 'ENGINE_BUSY'],
} as const;
const DAY_PARAM = described(DAY, 'In UTC.');
const FILE_PARAM = described(HISTORY_FILE, 'As the manifest names it.');
const FILE = { type: 'string', format: 'binary' } as const;
const FILES = { 200: FILE, 206: FILE, 304: {} } as const;

const LIST = {
  ...READ,
  path: '/v1/history',
  id: 'getHistory',
  summary: 'The days of the public history, and how far it is behind.',
  answers: { 200: PUBLIC_HISTORY },
  errors: ['NO_HISTORY'],
} as const satisfies RouteSpec;

const SHOW_DAY = {
  ...STORED,
  path: '/v1/history/:day',
  id: 'getHistoryDay',
  summary: 'The manifest of a day.',
  params: { day: DAY_PARAM },
  answers: { 200: HISTORY_MANIFEST, 304: {} },
  errors: ['NO_HISTORY', 'RESOURCE_NOT_FOUND', 'ENGINE_BUSY'],
} as const satisfies RouteSpec;

const SHOW_FILE = {
  ...BYTES,
  path: '/v1/history/:day/:file',
  id: 'getHistoryFile',
  summary: 'A file of a day, or a part of it.',
  params: { day: DAY_PARAM, file: FILE_PARAM },
  answers: FILES,
} as const satisfies RouteSpec;

const SHOW_MARKET_FILE = {
  ...BYTES,
  path: '/v1/history/:day/markets/:market_id/:file',
  id: 'getMarketHistoryFile',
  summary: 'The same of one market.',
  params: { day: DAY_PARAM, ...MARKET_ID_PARAM, file: FILE_PARAM },
  answers: FILES,
} as const satisfies RouteSpec;

export function publicHistoryRoutes(deps: HistoryDeps): Route[] {
  return [
    route(LIST, (call) => list(call, deps)),
    route(SHOW_DAY, (call) => show(call, deps, call.params.day, null)),
    route(SHOW_FILE, (call) => show(call, deps, call.params.day, call.params.file)),
    route(SHOW_MARKET_FILE, (call) => {
      const { day, market_id, file } = call.params;
      return show(call, deps, day, `markets/${market_id.toLowerCase()}/${file}`);
    }),
  ];
}

async function list(call: Call, { publicHistory, progress, sharedAnswers, clock }: HistoryDeps): Promise<void> {
  if (publicHistory === null) return refuse(call, { row: ERRORS.NO_HISTORY });
  const body = await sharedAnswers.get(call, 'history', KEPT_MS, async () => {
    const days = await publicHistory.days();
    const lags = Array.from({ length: progress.shards }, (_, shard) => progress.historyLag(shard, clock.nowMs()));
    const behind_records = lags.reduce((sum, { records }) => sum + records, 0);
    return JSON.stringify({ days, behind_records, behind_ms: Math.max(...lags.map(({ ms }) => ms)) });
  });
  okKept(call, body!);
}

/** @param path one that the manifest may have; null: the manifest */
async function show(call: Call, { publicHistory }: HistoryDeps, dayName: string, path: string | null): Promise<void> {
  if (publicHistory === null) return refuse(call, { row: ERRORS.NO_HISTORY });
  const onOver = publicHistory.begin(call.lane);
  if (onOver === null) return refuse(call, { row: ERRORS.ENGINE_BUSY });
  let isHandedOn = false;
  try {
    const day = await publicHistory.day(dayName);
    const facts = path === null ? day?.manifest : day?.files.get(path);
    if (day === null || facts === undefined) return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND });
    const file = {
      contentType: path === null ? JSON_TYPE : BYTES.contentType,
      cacheControl: day.isComplete ? IMMUTABLE : FOR_AN_HOUR,
      tag: `"${facts.sha256}"`,
      bytes: facts.bytes,
      open: () => publicHistory.open(dayName, path ?? MANIFEST, facts),
    };
    isHandedOn = true;
    await okStored(call, file, onOver);
  } finally {
    if (!isHandedOn) onOver();
  }
}
