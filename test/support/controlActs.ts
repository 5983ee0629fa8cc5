/** Random changes through every store of control.db, and what every public reader of the stores answers. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { User } from '../../gateway/account/accounts.ts';
import { BOOTSTRAP } from '../../gateway/base/principal.ts';
import type { FiatSession } from '../../gateway/fiat/fiatSessionsStore.ts';
import type { RailRow } from '../../gateway/fiat/railTransactionsStore.ts';
import { completeEventDetails, completeMarketDetails } from '../../gateway/markets/marketDetails.ts';
import type { Control } from '../../gateway/wiring/control.ts';
import { ACCOUNT_STATE, MARKET_STATUS, MOVEMENT, SELF_TRADE } from '../../shared/base/codes.ts';
import type { Random } from './random.ts';

const START_MS = 1_790_000_000_000;
const HOUR_MS = 3_600_000;
const HASH_BYTES = 32;

type Act = (control: Control, random: Random, nowMs: number) => void;

const hex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`;
const pick = <T>(random: Random, from: Iterable<T>): T | undefined => {
  const all = [...from];
  return all.length === 0 ? undefined : all[random.below(all.length)];
};
const userOf = ({ accounts }: Control, random: Random): User => accounts.byIndex(1 + random.below(accounts.count));

const ACCOUNTS: Act[] = [
  ({ accounts, identities }, random, nowMs) => {
    const referrer = accounts.byIndex(1 + random.below(accounts.count)).referralCode;
    const wallet = random.below(2) === 0 ? hex(20) : null;
    const fields = { displayName: 'A', email: null, role: 'user', referralCode: referrer, wallet };
    const identity = { issuer: 'https://id.example', subject: randomUUID() };
    accounts.signUp(fields, nowMs, ({ index }) => identities.keep(identity, index, nowMs));
  },
  (control, random) => control.accounts.addWallet(userOf(control, random), hex(20)),
  (control, random) => {
    const maker = pick(random, userOf(control, random).wallets);
    if (maker !== undefined) control.accounts.addDelegate(maker, hex(20));
  },
  (control, random, nowMs) => {
    const { grants } = control.accounts;
    const maker = pick(random, userOf(control, random).wallets);
    const signer = maker === undefined ? undefined : pick(random, grants.delegatesOf(maker));
    if (maker !== undefined && signer !== undefined) grants.remove(maker, signer, nowMs);
    else if (maker !== undefined) grants.remove(maker, null, nowMs);
  },
  ({ accounts }, random) => {
    const grant = pick(random, accounts.grants.unswept());
    if (grant !== undefined) accounts.grants.swept(grant.number);
  },
  (control, random) => {
    const wallet = pick(random, userOf(control, random).wallets);
    if (wallet !== undefined) control.nonceFloors.raise(wallet, control.nonceFloors.of(wallet) + 1 + random.below(9));
  },
  ({ nonceFloors }, random) => {
    const raised = pick(random, nonceFloors.uncarried());
    if (raised !== undefined) nonceFloors.carried(raised.wallet, raised.floor);
  },
  (control, random, nowMs) => {
    const state = pick(random, Object.values(ACCOUNT_STATE))!;
    control.accountStates.set(userOf(control, random).index, state, nowMs);
  },
  (control, random, nowMs) => {
    control.accountStates.setLeaving(userOf(control, random).index, random.below(2) === 0, nowMs);
  },
  ({ accountStates }, random) => {
    const account = pick(random, accountStates.unswept());
    if (account !== undefined) accountStates.swept(account);
  },
];

const IDENTITY: Act[] = [
  (control, random, nowMs) => {
    const policy = {
      scopes: random.below(8),
      tier: 'premium' as const,
      rateLimitOverride: null,
      requireSigningVersion: null,
      selfTradePrevention: SELF_TRADE.NONE,
    };
    const { key } = control.keys.issue(userOf(control, random), policy, null, nowMs);
    if (random.below(3) === 0) control.keys.acceptedAhead(key.keyId, Math.floor(nowMs / 1000) + 5);
    if (random.below(3) === 0) control.keys.rotate(key.keyId);
    if (random.below(3) === 0) control.keys.revoke(key.keyId, nowMs);
  },
  (control, random, nowMs) => {
    const { operator } = control.operators.create(`op ${randomUUID()}`, ['viewer'], BOOTSTRAP, nowMs);
    if (random.below(2) === 0) control.operators.revoke(operator, nowMs);
  },
  (control, random, nowMs) => {
    const facts = { method: 'wallet', userAgent: null };
    control.sessions.open(userOf(control, random), facts, nowMs, () => randomBytes(HASH_BYTES));
  },
  ({ sessions }, random, nowMs) => {
    const session = pick(random, sessions.all());
    if (session === undefined) return;
    const { generation, tokenHash } = session;
    const used = { generation, hash: tokenHash, usedMs: nowMs, successorSealed: randomBytes(9), usedBy: null };
    sessions.rotate(session, used, randomBytes(HASH_BYTES), session.used.slice(random.below(2)));
  },
  ({ sessions }, random, nowMs) => {
    const session = pick(random, sessions.all());
    if (session === undefined) return;
    const kind = random.below(3);
    if (kind === 0) sessions.end(session.principal.sessionId);
    else if (kind === 1) sessions.authenticated(session, nowMs);
    else sessions.forgetUsed([session]);
  },
  ({ approvals }, random, nowMs) => {
    const request = { kind: 'unwinding', trade_id: randomUUID() } as const;
    const approval = approvals.add(request.trade_id, request, 'bootstrap', nowMs, HOUR_MS);
    if (random.below(2) === 0) approvals.decide(approval, 'approved', 'opr_1', nowMs);
  },
];

const MARKETS: Act[] = [
  ({ catalog }, _random, nowMs) => {
    catalog.createEvent(`event-${randomUUID()}`, completeEventDetails({ title: 'Game' }, nowMs), nowMs);
  },
  ({ catalog }, random, nowMs) => {
    const eventId = pick(random, catalog.events)?.id ?? null;
    const series = random.below(2) === 0 ? { series_ticker: `S${random.below(3)}` } : {};
    const details = completeMarketDetails({ title: 'M', description: '', category: 'Sports', ...series });
    const opening = { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: 1, endMs: 2 };
    const fields = { eventId, ticksPerUnit: 100, minOrderAtomic: 1, tokenIds: null, opening, details };
    catalog.createMarkets(
      Array.from({ length: 1 + random.below(2) }, () => fields),
      nowMs,
    );
  },
  ({ catalog }, random, nowMs) => {
    const market = pick(random, catalog.markets);
    if (market === undefined) return;
    const details = { ...market.details, title: randomUUID(), series_ticker: `S${random.below(3)}` };
    const deployment = random.below(2) === 0 ? null : { status: 'failed' as const, retries: random.below(9) };
    catalog.updateMarket(market, pick(random, catalog.events)?.id ?? null, details, nowMs, deployment);
  },
  ({ catalog }, random, nowMs) => {
    const event = pick(random, catalog.events);
    if (event !== undefined) catalog.updateEvent(event, { ...event.details, title: randomUUID() }, nowMs);
  },
  ({ liveScores, catalog }, random, nowMs) => {
    const event = pick(random, catalog.events);
    const score = { status: 'live', clock: null, period: null, home_score: random.below(9), away_score: 0 } as const;
    if (event !== undefined) liveScores.set(event.index, score as never, nowMs);
  },
  ({ indications, catalog }, random, nowMs) => {
    const market = pick(random, catalog.markets);
    const prices = { bidTicks: 1 + random.below(50), askTicks: 60, expiresMs: nowMs + HOUR_MS };
    if (market !== undefined) indications.set(market.index, prices);
  },
  ({ rebateRates, catalog }, random, nowMs) => {
    const market = pick(random, catalog.markets);
    if (market !== undefined) rebateRates.set(market.index, random.below(10_000), nowMs);
  },
  (control, random) => {
    const market = pick(random, control.catalog.markets);
    if (market !== undefined) control.claimMarks.add(userOf(control, random).index, market.index);
  },
  ({ platform }, random) => platform.setPaused(random.below(2) === 0),
  ({ contracts }, random) => {
    if (contracts.pending !== null) contracts.complete();
    else contracts.startChange({ ...contracts.current, usdc: `0x${String(random.below(9)).repeat(40)}` as never });
  },
];

const PEOPLE: Act[] = [
  (control, random, nowMs) => {
    const account = userOf(control, random).index;
    const kind = random.below(2) === 0 ? MOVEMENT.DEPOSIT : MOVEMENT.WITHDRAWAL;
    const fields = { account, kind, amountMicro: 1 + random.below(1000), reference: randomUUID(), market: null };
    const movement = control.movements.start(fields, nowMs);
    if (random.below(3) === 0) control.movements.complete(movement);
    else if (random.below(2) === 0) control.movements.refuse(movement);
  },
  (control, random, nowMs) => control.armedSwitches.arm(userOf(control, random).index, nowMs),
  (control, random, nowMs) => control.armedSwitches.trigger([userOf(control, random).index], nowMs),
  (control, random) => control.armedSwitches.finish(userOf(control, random).index, random.below(2) === 0),
  (control, random) => {
    const limits = { realityCheckMinutes: random.below(60), sessionTimeoutMinutes: null };
    control.tradingTimeouts.setPreferences(userOf(control, random).index, limits);
  },
  ({ tradingTimeouts, ...control }, random, nowMs) => {
    const account = userOf(control as Control, random).index;
    if (tradingTimeouts.cancelTimeout(account, nowMs) === null) tradingTimeouts.startTimeout(account, '24h', 24, nowMs);
  },
  (control, random) => {
    const account = userOf(control, random).index;
    const group = control.orderGroups.make(account, randomUUID());
    if (random.below(2) === 0) control.orderGroups.set(group, { windowSec: 5, maxAtomic: random.below(99) });
  },
  (control, random) => {
    control.openOrderBounds.set(userOf(control, random).index, { inAll: random.below(99), inMarket: null });
  },
  (control, random) => {
    const profile = { handle: randomUUID(), avatarUrl: null, isPublic: random.below(2) === 0 };
    control.publicProfiles.set(userOf(control, random).index, profile);
  },
  (control, random, nowMs) => control.notices.add(userOf(control, random).index, 'security', 'T', 'B', nowMs),
  (control, random, nowMs) => {
    const account = userOf(control, random).index;
    const through = Array.from({ length: control.shards + 1 }, () => random.below(100));
    control.readMarks.markAll(account, through, nowMs - 1, nowMs);
    control.readMarks.markOne(account, { id: randomUUID(), source: 0, sequence: 1000 + random.below(100) }, nowMs);
  },
  (control, random, nowMs) => control.achievements.grant(userOf(control, random).index, ['first_trade'], nowMs),
  (control, random, nowMs) => {
    for (let left = 3; left > 0; left--) control.onlineAccounts.note(userOf(control, random).index, nowMs);
    control.onlineAccounts.save(nowMs);
  },
];

const CASH: Act[] = [
  (control, random, nowMs) => {
    const account = userOf(control, random).index;
    const session = { ...FIAT, id: randomUUID(), account, partnerReference: randomUUID(), createdMs: nowMs };
    control.fiatSessions.add(session, []);
  },
  ({ fiatSessions }, random, nowMs) => {
    const session = pick(random, fiatSessions.open());
    if (session === undefined) return;
    const step = { subject: 'status', fromState: 'a', toState: 'b', cause: 'c', evidence: null, atMs: nowMs } as const;
    fiatSessions.change(session, { updatedMs: nowMs, isOpen: random.below(2) as 0 | 1 }, [step]);
  },
  ({ fiatWebhooks }, random, nowMs) => {
    const event = { provider: 'p', eventId: randomUUID(), partnerReference: 'r' };
    fiatWebhooks.add(event, randomBytes(5), nowMs);
    if (random.below(2) === 0) fiatWebhooks.processed(event, nowMs);
    if (random.below(4) === 0) fiatWebhooks.sweep(nowMs + 1000 * HOUR_MS);
  },
  ({ railTransactions }, _random, nowMs) => {
    railTransactions.add({ ...RAIL, txHash: hex(32), nonce: hex(32), accountNonce: null, receivedMs: nowMs });
  },
  ({ railTransactions }, random, nowMs) => {
    const row = pick(random, railTransactions.open());
    if (row !== undefined) railTransactions.change(row, { state: 'mined', blockMs: nowMs });
  },
  ({ fiatTransfers, fiatSessions }, random, nowMs) => {
    const session = pick(random, fiatSessions.open());
    if (session === undefined || fiatTransfers.intentOf(session.id) !== undefined) return;
    const intent = { ...TRANSFER, nonce: hex(32), digest: hex(32), signature: null, signedMs: null, createdMs: nowMs };
    fiatSessions.write(() => {
      fiatTransfers.addIntent({ ...intent, sessionId: session.id, intentId: randomUUID() });
      fiatTransfers.claim(hex(32), session.id);
    });
  },
];

const TRANSFER = { from: hex(20), to: hex(20), valueMicro: 5, validAfterSec: 0, validBeforeSec: 9 };
const RAIL: Omit<RailRow, 'txHash' | 'nonce' | 'accountNonce' | 'receivedMs'> = {
  ...TRANSFER,
  kind: 'transfer',
  fee: 1,
  signature: '0x',
  fromAccount: 1,
  toAccount: 2,
  state: 'pending',
  reason: null,
  blockMs: null,
  reference: null,
  creditedMs: null,
};
const FIAT: Omit<FiatSession, 'id' | 'account' | 'partnerReference' | 'createdMs'> = {
  kind: 'onramp',
  provider: 'p',
  walletAddress: hex(20),
  asset: 'USDC',
  network: 'n',
  fiatCurrency: 'EUR',
  requestedAmount: null,
  paymentMethod: null,
  redirectPath: null,
  idempotencyKey: null,
  fingerprint: 'f',
  status: 'created' as FiatSession['status'],
  amountValue: null,
  amountCurrency: null,
  providerTransactionId: null,
  providerStatus: 'none',
  toAddress: null,
  txHash: null,
  deadlineMs: null,
  failureCode: null,
  transferState: null,
  heldState: null,
  errorCause: null,
  alarm: null,
  reportedHash: null,
  updatedMs: 1,
  expiresMs: 2,
  isOpen: 1,
};

const ACTS: readonly Act[] = [...ACCOUNTS, ...IDENTITY, ...MARKETS, ...PEOPLE, ...CASH];

/** One change, or none where the stores have nothing that it could change. @param turn makes the time grow. */
export function actAtRandom(control: Control, random: Random, turn: number): void {
  const nowMs = START_MS + turn * 60_000;
  if (control.accounts.count === 0) {
    const fields = { displayName: null, email: 'a@b.c', role: 'user', referralCode: null, wallet: hex(20) };
    control.accounts.signUp(fields, nowMs);
  } else pick(random, ACTS)!(control, random, nowMs);
}

/** Returns answers whose order has no meaning, as sorted texts. */
function unordered(all: Iterable<unknown>): string[] {
  const sorted = (_name: string, value: unknown): unknown => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  return [...all].map((one) => JSON.stringify(one, sorted)).sort();
}

type Answers = { readonly [store: string]: unknown };

/** Everything that the stores answer, by store. */
export function answersOf(control: Control, turn: number): Answers {
  const nowMs = START_MS + turn * 60_000;
  const accounts = Array.from({ length: control.accounts.count }, (_, at) => at + 1);
  const each = (answer: (account: number) => unknown): unknown => accounts.map(answer);
  return {
    platform: [control.platform.paused, control.platform.domain, control.platform.shards],
    secrets: [control.sessionSecret, control.sessionKeys.kid, control.adminToken.token],
    contracts: [control.contracts.current, control.contracts.pending],
    operators: [control.operators.all(), control.operators.isFull],
    approvals: [control.approvals.page(1000), control.approvals.countOpen(nowMs)],
    ...answersOfAccounts(control, each),
    ...answersOfMarkets(control, nowMs),
    ...answersOfPeople(control, each, nowMs),
    ...answersOfCash(control),
  };
}

type Each = (answer: (account: number) => unknown) => unknown;

function answersOfAccounts(control: Control, each: Each): Answers {
  const { accounts, accountStates, keys, sessions } = control;
  const { grants } = accounts;
  return {
    users: accounts.list(0, 1e6),
    wallets: accounts
      .list(0, 1e6)
      .flatMap(({ index, id, wallets }) => [
        accounts.byId(id)!.wallets,
        accounts.escrowOf(index),
        accounts.walletsEver(index),
        accounts.referredBy(index),
        wallets.map((wallet) => [accounts.ownerOf(wallet), accounts.grantOf(index, wallet, wallet)]),
        wallets.map((wallet) => grants.delegatesOf(wallet).map((signer) => [signer, grants.numberOf(wallet, signer)])),
      ]),
    unswept: unordered(grants.unswept()),
    floors: accounts.list(0, 1e6).map(({ wallets }) => wallets.map((wallet) => control.nonceFloors.of(wallet))),
    uncarried: unordered(control.nonceFloors.uncarried()),
    states: each((account) => [accountStates.of(account), accountStates.isLeaving(account)]),
    unsweptStates: unordered(accountStates.unswept()),
    keys: each((account) => keys.listOf(account).map((key) => [key, keys.find(key.keyId)])),
    sessions: each((account) => unordered(sessions.of(account))),
    refreshed: unordered([...sessions.refreshed()].map(({ principal }) => principal.sessionId)),
  };
}

function answersOfMarkets({ catalog, ...control }: Control, nowMs: number): Answers {
  return {
    catalog: [catalog.markets, catalog.events, catalog.revisions.current],
    series: [0, 1, 2].map((series) => catalog.inSeries(`S${series}`)),
    lookups: catalog.markets.map(({ id, yesTokenId }) => [catalog.byId(id)?.index, catalog.byToken(yesTokenId)?.index]),
    scores: catalog.events.map(({ index, id, slug }) => [
      control.liveScores.of(index),
      catalog.eventById(id)?.index,
      catalog.eventBySlug(slug)?.index,
    ]),
    indications: catalog.markets.map(({ index }) => control.indications.of(index, nowMs)),
    rebates: control.rebateRates.all,
  };
}

function answersOfPeople(control: Control, each: Each, nowMs: number): Answers {
  const { movements, tradingTimeouts, publicProfiles } = control;
  return {
    claimMarks: each((account) => unordered(control.claimMarks.of(account))),
    movements: [movements.pending(), [1, 500, 5000].map((less) => movements.hasRoomFor(2 ** 53 - less))],
    armed: unordered(control.armedSwitches.armed()),
    triggered: unordered(control.armedSwitches.triggered()),
    timeouts: each((account) => [tradingTimeouts.preferences(account), tradingTimeouts.activeTimeout(account, nowMs)]),
    groups: [...control.orderGroups.all()],
    bounds: each((account) => control.openOrderBounds.of(account)),
    profiles: each((account) => [publicProfiles.of(account), publicProfiles.shown(account)]),
    notices: each((account) => control.notices.of(account)),
    reads: each((account) => control.readMarks.of(account)),
    achievements: each((account) => control.achievements.of(account)),
    online: control.onlineAccounts.count(nowMs, 48),
  };
}

function answersOfCash({ fiatSessions, fiatTransfers, fiatWebhooks, railTransactions }: Control): Answers {
  return {
    fiat: [unordered(fiatSessions.open()), fiatSessions.recent(1000, 0)],
    transfers: fiatSessions
      .recent(1000, 0)
      .map(({ id }) => [fiatSessions.transitionsOf(id), fiatTransfers.intentOf(id), fiatTransfers.claimsOf(id)]),
    webhooks: [fiatWebhooks.isFull, fiatWebhooks.waiting()],
    rail: unordered(railTransactions.open()),
  };
}

/** The largest timestamps that keys were used with before: of a member that follows, and of a fresh start. */
export function aheadOf({ accounts, keys }: Control): number[] {
  return accounts.list(0, 1e6).flatMap(({ index }) =>
    keys.listOf(index).map(({ keyId }) => {
      // The first request with a key reads it.
      keys.find(keyId);
      return keys.aheadBeforeStart(keyId);
    }),
  );
}
