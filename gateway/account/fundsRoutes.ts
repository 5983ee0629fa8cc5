/** Balances of an account, and the conversion of USDC into full sets of tokens and back (RULES.md 3). */
import { BALANCES, CONVERSION, FULL_SETS } from '../../shared/api/accounts.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import { EXT_ROUTE, withFee } from '../../shared/wire/commands.ts';
import type { Call } from '../http/call.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, okInRows, refuse } from '../http/respond.ts';
import { type CallOf, type Handler, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { MarketEntry } from '../markets/catalog.ts';
import { type MarketDeps, requireMarket } from '../markets/requireMarket.ts';
import type { ShardClient } from '../shardlink/client.ts';
import { refusalOf } from '../shardlink/refusal.ts';
import type { ReplyHandler, ShardReply } from '../shardlink/reply.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';
import type { AccountStates } from './accountStates.ts';
import { lessThanFee, namingFee } from './movementFeeJson.ts';
import type { AccountReads } from './reads.ts';

type FundDeps = MarketDeps & {
  readonly engine: ShardClient;
  readonly accountStates: AccountStates;
  readonly queries: Pick<AccountReads, 'convertedWithKey'>;
  readonly settlement: Pick<SettlementPort, 'bounds'>;
  /** Answers a call whose handler has thrown. */
  readonly onError: (error: unknown, call: Call) => void;
};

type Conversion = typeof MOVEMENT.SPLIT | typeof MOVEMENT.MERGE;

const CONVERT = {
  method: 'POST',
  access: 'trade:orders',
  risk: 'taken',
  idempotency: EXT_ROUTE.CONVERT,
  params: ID_PARAM,
  body: CONVERSION,
  answers: { 200: FULL_SETS },
} as const;

const CONVERT_ERRORS = [
  'VALIDATION_ERROR',
  'MARKET_NOT_ACTIVE',
  'INSUFFICIENT_BALANCE',
  'RATE_LIMITED',
  'OUTCOME_UNKNOWN',
] as const;

const SPLIT = {
  ...CONVERT,
  path: '/v1/markets/:id/split',
  id: 'splitUsdc',
  summary: 'Turns USDC into as many Yes and No tokens.',
  errors: ['MARKET_NOT_FOUND', 'ACCOUNT_FROZEN', 'ACCOUNT_CLOSE_ONLY', 'INVALID_LOT', ...CONVERT_ERRORS],
} as const satisfies RouteSpec;

const MERGE = {
  ...CONVERT,
  path: '/v1/markets/:id/merge',
  id: 'mergeTokens',
  summary: 'Turns as many Yes and No tokens back into USDC.',
  risk: 'reduced',
  errors: ['MARKET_NOT_FOUND', 'ACCOUNT_FROZEN', ...CONVERT_ERRORS],
} as const satisfies RouteSpec;

type ConvertSpec = typeof SPLIT | typeof MERGE;

const SHOW_BALANCES = {
  method: 'GET',
  path: '/v1/user/balances',
  id: 'getBalances',
  summary: 'The USDC and the tokens of the account, available and reserved.',
  access: 'read:account',
  answers: { 200: BALANCES },
} as const satisfies RouteSpec;

export function fundRoutes(deps: FundDeps): Route[] {
  return [
    route(SPLIT, convertHandler(deps, MOVEMENT.SPLIT, 'split')),
    route(MERGE, convertHandler(deps, MOVEMENT.MERGE, 'merged')),
    route(SHOW_BALANCES, (call) => okInRows(call, balancesOf(call.principal.accountIndex, deps))),
  ];
}

function convertHandler(deps: FundDeps, movement: Conversion, message: string): Handler<ConvertSpec> {
  const isSplit = movement === MOVEMENT.SPLIT;
  const asset = isSplit ? 'USDC' : 'TOKEN';
  /** @param feeMicro null for an earlier request, whose fee may have differed */
  const converted = (call: CallOf<ConvertSpec>, feeMicro: number | null): void => {
    const fee = feeMicro === null ? {} : { fee_usdc_micro: String(feeMicro) };
    ok(call, { message, market_id: call.params.id.toLowerCase(), amount: call.body.amount, ...fee });
  };
  const { accounts } = deps.views;
  const giveBack = (call: CallOf<ConvertSpec>): void => {
    deps.settlement.bounds.giveBack(call.principal.accountIndex, Number(call.body.amount));
  };
  const onReply = (reply: ShardReply, call: CallOf<ConvertSpec>, feeMicro: number | null): void => {
    if (reply.code === OK) {
      converted(call, feeMicro);
      return;
    }
    if (reply.code !== E.OUTCOME_UNKNOWN) giveBack(call);
    const refusal = refusalOf(reply, asset);
    const { code } = reply;
    refuse(call, isSplit ? { ...refusal, ...namingFee({ code, ...refusal }, feeMicro ?? 0) } : refusal);
  };
  const convert = (call: CallOf<ConvertSpec>, { shard, index }: MarketEntry): void => {
    const account = call.principal.accountIndex;
    const { accountStates, engine } = deps;
    const restricted = isSplit ? accountStates.addingRefusal(account) : accountStates.reducingRefusal(account);
    if (restricted !== null) return refuse(call, { row: restricted });
    const amount = Number(call.body.amount);
    const { bounds } = deps.settlement;
    const { feeMicro } = bounds;
    const whole = isSplit ? accounts.availableMicro(account) - (feeMicro ?? 0) : accounts.availableSets(account, index);
    const bound =
      isSplit || feeMicro === null || amount >= feeMicro
        ? bounds.takeSets(account, 'amount', amount, whole)
        : lessThanFee('amount', feeMicro);
    if (bound !== null) return refuse(call, bound);
    const key = call.idempotencyHold?.words;
    const answer: ReplyHandler<CallOf<ConvertSpec>> = (reply, asked) => onReply(reply, asked, feeMicro);
    const charged = withFee(movement, feeMicro ?? 0);
    const code = engine.convert(shard, account, index, charged, amount, answer, call, key);
    if (code === OK) return;
    giveBack(call);
    refuse(call, { row: errorRow(code) });
  };
  return (call) => {
    const market = requireMarket(call, deps, call.params.id);
    if (market === null) return;
    if (call.idempotencyHold?.mayHaveRun)
      void convertUnlessDone(
        deps,
        call,
        market.shard,
        (done) => converted(done, null),
        () => convert(call, market),
      );
    else convert(call, market);
  };
}

/**
 * An earlier request with this key has lost its answer. Shards do not recognise a repeated conversion, so the journal
 * is searched before the shard is asked. Once the shard is READY and has answered everything that was given up, the
 * first command is in its journal or will never be.
 */
export async function convertUnlessDone<C extends Call>(
  { engine, queries, onError }: Pick<FundDeps, 'engine' | 'queries' | 'onError'>,
  call: C,
  shard: number,
  converted: (call: C, convertedMs: number) => void,
  convert: () => void,
): Promise<void> {
  const { account, route, key, fingerprint } = call.idempotencyHold!.use;
  try {
    const found =
      engine.isDecided(shard) && (await queries.convertedWithKey({ account, route, key, fingerprint, row: 0 }));
    if (found === false || !found.ok) refuse(call, { row: ERRORS.OUTCOME_UNKNOWN });
    else if (found.value > 0) converted(call, found.value);
    else convert();
  } catch (error) {
    call.idempotencyHold?.leaveUnresolved();
    onError(error, call);
  }
}

/**
 * The rows of an account with tokens in thousands of markets are made while they are written, from the state of one
 * moment.
 */
function balancesOf(account: number, { views }: FundDeps): Iterator<string> {
  const { accounts, markets } = views;
  const tokens = accounts.allTokens(account);
  const usdc = {
    available: String(accounts.availableMicro(account)),
    reserved: String(accounts.reservedMicro(account)),
  };
  return (function* (): Generator<string> {
    yield `{"usdc":${JSON.stringify(usdc)},"tokens":[`;
    for (const [row, { market, outcome, availableAtomic, reservedAtomic }] of tokens.entries()) {
      const amounts = `"available":"${availableAtomic}","reserved":"${reservedAtomic}"`;
      yield `${row === 0 ? '' : ','}{"market_id":"${markets.id(market)}","outcome_index":${outcome},${amounts}}`;
    }
    yield ']}';
  })();
}
