/** The administrator's client: users, keys, deposits and withdrawals, the catalogue and the platform. */
import type { ImportReport } from '../api/catalogue.ts';
import type { CallOptions } from './accountRequests.ts';
import { type AdminOptions, AdminRequests } from './adminRequests.ts';
import { AdminSets } from './adminSets.ts';
import { withQuery } from './request.ts';
import { INSPECT, type Inspecting, shown } from './shown.ts';
import type {
  AccountStateName,
  ActiveDrills,
  AdminSessions,
  AlertTestAnswer,
  ApiKeyList,
  Approval,
  Approvals,
  ApprovalsQuery,
  AuditPage,
  AuditQuery,
  BackupOrder,
  BackupReport,
  ClusterState,
  Delegate,
  Delegates,
  DrillName,
  EventStages,
  FailedTrades,
  FailedTradesQuery,
  FiatDifference,
  FiatDifferences,
  FundMovement,
  HandedOver,
  Indication,
  IssuedApiKey,
  IssuedOperator,
  Ledger,
  LiveScore,
  Market,
  MarketDeployment,
  MarketEvent,
  MarketHolders,
  MarketPatch,
  MarketRebate,
  MendedTrade,
  Message,
  NewApiKey,
  NewContracts,
  NewEvent,
  NewIndication,
  NewMarket,
  NewMovement,
  NewOperator,
  NewScore,
  NewUser,
  OperatedFiatSession,
  OperatedFiatSessions,
  Operations,
  Operator,
  Operators,
  Payouts,
  PlatformContracts,
  PlatformStages,
  PlatformStatus,
  Profile,
  ProfileWithBalance,
  Resolution,
  Restricted,
  RevokedSessions,
  RotatedApiKey,
  StageStep,
  StatementBody,
  StatementReport,
  UserPage,
  WaitingMoney,
  WaitingMoneyQuery,
  Wallets,
} from './types.ts';

export class AdminClient {
  readonly sets: AdminSets;
  readonly #requests: AdminRequests;
  readonly #options: AdminOptions;

  /** Reads are retried like those of `ExchangeClient`; a change only after an answer that nothing was done. */
  constructor(options: AdminOptions) {
    this.#requests = new AdminRequests(options);
    this.sets = new AdminSets(this.#requests);
    this.#options = options;
  }

  /** The same client with another time-out, signal or policy of retries. */
  with(call: CallOptions): AdminClient {
    return new AdminClient({ ...this.#options, ...call });
  }

  [INSPECT](...inspecting: Inspecting): string {
    return shown('AdminClient', { baseUrl: [this.#options.baseUrl].flat().join() }, inspecting);
  }

  createUser(user: NewUser): Promise<Profile> {
    return this.#send('POST', '/admin/users', user);
  }

  addWallet(userId: string, address: string): Promise<Profile> {
    return this.#send('POST', `/admin/users/${encodeURIComponent(userId)}/wallets`, { address });
  }

  /** Allows `signer` to sign orders that are paid by `maker`. */
  addDelegate(userId: string, maker: string, signer: string): Promise<Delegate> {
    return this.#send('POST', `/admin/users/${encodeURIComponent(userId)}/delegates`, { maker, signer });
  }

  user(userId: string): Promise<ProfileWithBalance> {
    return this.#send('GET', `/admin/users/${encodeURIComponent(userId)}`);
  }

  /** `cursor` is the `next_cursor` of the page before; `wallet` asks for the one account that owns it. */
  listUsers(page: { limit?: number; cursor?: number; wallet?: string } = {}): Promise<UserPage> {
    return this.#send('GET', withQuery('/admin/users', page));
  }

  /** Cancels the open orders that the state forbids. */
  setAccountState(userId: string, state: AccountStateName): Promise<Restricted> {
    return this.#send('PUT', `/admin/users/${encodeURIComponent(userId)}/state`, { state });
  }

  listWallets(userId: string): Promise<Wallets> {
    return this.#send('GET', `/admin/users/${encodeURIComponent(userId)}/wallets`);
  }

  /** Takes the wallet and its delegates away, and cancels their open orders. */
  removeWallet(userId: string, address: string): Promise<Restricted> {
    return this.#send('DELETE', `/admin/users/${encodeURIComponent(userId)}/wallets/${encodeURIComponent(address)}`);
  }

  listDelegates(userId: string): Promise<Delegates> {
    return this.#send('GET', `/admin/users/${encodeURIComponent(userId)}/delegates`);
  }

  /** Takes the delegate away, and cancels the open orders that it has signed for this wallet. */
  removeDelegate(userId: string, maker: string, signer: string): Promise<Restricted> {
    const path = [userId, 'delegates', maker, signer].map(encodeURIComponent).join('/');
    return this.#send('DELETE', `/admin/users/${path}`);
  }

  /** Without their secrets; the revoked ones too. */
  listApiKeys(userId: string): Promise<ApiKeyList> {
    return this.#send('GET', `/admin/users/${encodeURIComponent(userId)}/api-keys`);
  }

  /** The only answer that contains the secret and the passphrase. */
  createApiKey(userId: string, key: NewApiKey): Promise<IssuedApiKey> {
    return this.#send('POST', `/admin/users/${encodeURIComponent(userId)}/api-keys`, key);
  }

  /** Another secret and passphrase; the former ones are void at once, and sockets opened with them are closed. */
  rotateApiKey(keyId: string): Promise<RotatedApiKey> {
    return this.#send('POST', `/admin/api-keys/${encodeURIComponent(keyId)}/rotate`);
  }

  /** The sessions in force. */
  listSessions(userId: string): Promise<AdminSessions> {
    return this.#send('GET', `/admin/users/${encodeURIComponent(userId)}/sessions`);
  }

  endSessions(userId: string): Promise<RevokedSessions> {
    return this.#send('DELETE', `/admin/users/${encodeURIComponent(userId)}/sessions`);
  }

  revokeApiKey(keyId: string): Promise<Message> {
    return this.#send('DELETE', `/admin/api-keys/${encodeURIComponent(keyId)}`);
  }

  deposit(userId: string, movement: NewMovement): Promise<FundMovement> {
    return this.#send('POST', `/admin/users/${encodeURIComponent(userId)}/deposits`, movement);
  }

  /** Throws ApprovalNeededError when the amount needs a second operator. */
  withdraw(userId: string, movement: NewMovement): Promise<FundMovement> {
    return this.#requests.sendOrAsk('POST', `/admin/users/${encodeURIComponent(userId)}/withdrawals`, movement);
  }

  /** The latest score of an event, in place of the one before. */
  postScore(eventId: string, score: NewScore): Promise<LiveScore> {
    return this.#send('POST', `/admin/events/${encodeURIComponent(eventId)}/score`, score);
  }

  /** The prices at which a desk says it would trade, until they expire. */
  postIndication(marketId: string, indication: NewIndication): Promise<Indication> {
    return this.#send('POST', `/admin/markets/${encodeURIComponent(marketId)}/indications`, indication);
  }

  createEvent(event: NewEvent): Promise<MarketEvent> {
    return this.#send('POST', '/admin/events', event);
  }

  createMarket(market: NewMarket): Promise<Market> {
    return this.#send('POST', '/admin/markets', market);
  }

  /** Throws ApprovalNeededError, as withdraw, where it changes what people rely on who have bought. */
  patchMarket(marketId: string, patch: MarketPatch): Promise<Market> {
    return this.#requests.sendOrAsk('PATCH', `/admin/markets/${encodeURIComponent(marketId)}`, patch);
  }

  marketHolders(marketId: string): Promise<MarketHolders> {
    return this.#send('GET', `/admin/markets/${encodeURIComponent(marketId)}/holders`);
  }

  /** Cancels every open order of the market; holders may claim afterwards. Throws ApprovalNeededError, as withdraw. */
  resolveMarket(marketId: string, resolution: Resolution): Promise<Market> {
    return this.#requests.sendOrAsk('POST', `/admin/markets/${encodeURIComponent(marketId)}/resolve`, resolution);
  }

  /** Ends a market whose question has no answer: without `payouts`, every token pays half a USDC. */
  cancelMarket(marketId: string, payouts?: Payouts): Promise<Market> {
    return this.#requests.sendOrAsk('POST', `/admin/markets/${encodeURIComponent(marketId)}/cancel`, { payouts });
  }

  /** The part of their fees that makers of the market get back from now on; 0 for none. */
  setRebate(marketId: string, rebateBps: number): Promise<MarketRebate> {
    return this.#send('PUT', `/admin/markets/${encodeURIComponent(marketId)}/rebate`, { rebate_bps: rebateBps });
  }

  deployMarket(marketId: string): Promise<MarketDeployment> {
    return this.#send('POST', `/admin/markets/${encodeURIComponent(marketId)}/deploy`);
  }

  /** Pays every holder that has not claimed. */
  settleMarket(marketId: string): Promise<Market> {
    return this.#send('POST', `/admin/markets/${encodeURIComponent(marketId)}/settle`);
  }

  /** Lines of JSON, at most 1,000 and 1 MiB of them, each with an event or a market (RULES.md 9.40). */
  importCatalogue(lines: string): Promise<ImportReport> {
    return this.#requests.sendLines('/admin/catalogue/import', lines);
  }

  /** The whole catalogue as lines that `importCatalogue` reads. */
  exportCatalogue(): Promise<ReadableStream<Uint8Array>> {
    return this.#requests.open('/admin/catalogue/export');
  }

  pause(): Promise<Message> {
    return this.#send('POST', '/admin/platform/pause', {});
  }

  resume(): Promise<Message> {
    return this.#send('POST', '/admin/platform/resume', {});
  }

  /** Steps the whole platform to another stage; `expected` is the one that was seen (RULES.md 9.70). */
  stepPlatform(step: StageStep): Promise<PlatformStages> {
    return this.#send('POST', '/admin/platform/stage', step);
  }

  stepEvent(eventId: string, step: StageStep): Promise<EventStages> {
    return this.#send('POST', `/admin/events/${encodeURIComponent(eventId)}/stage`, step);
  }

  stepMarket(marketId: string, step: StageStep): Promise<Market> {
    return this.#send('POST', `/admin/markets/${encodeURIComponent(marketId)}/stage`, step);
  }

  platform(): Promise<PlatformStatus> {
    return this.#send('GET', '/admin/platform');
  }

  /** Of any member of a cluster (RULES.md 18.11). */
  cluster(): Promise<ClusterState> {
    return this.#send('GET', '/admin/cluster');
  }

  /** Asks the leader to hand over, to the standby that has followed furthest if none is named. */
  promote(member?: string): Promise<HandedOver> {
    return this.#send('POST', '/admin/cluster/promote', member === undefined ? {} : { member });
  }

  /** The state of the exchange, and its counters since the start. */
  operations(): Promise<Operations> {
    return this.#send('GET', '/admin/operations');
  }

  /** The queues of cashing in and out, and the newest sessions or those that someone has to look at. */
  fiatSessions(page: { alarmed?: boolean; limit?: number; offset?: number } = {}): Promise<OperatedFiatSessions> {
    return this.#send('GET', withQuery('/admin/fiat/sessions', page));
  }

  /** One session with everything that happened to it, and why. */
  fiatSession(id: string): Promise<OperatedFiatSession> {
    return this.#send('GET', `/admin/fiat/sessions/${encodeURIComponent(id)}`);
  }

  /** Compares a provider's statement of a day with our sessions; without rows the provider is asked. */
  compareFiatStatement(statement: StatementBody): Promise<StatementReport> {
    return this.#send('POST', '/admin/fiat/statements', statement);
  }

  /** Statements and sessions that do not agree, and the claims against accounts. */
  fiatDifferences(page: { all?: boolean; limit?: number; offset?: number } = {}): Promise<FiatDifferences> {
    return this.#send('GET', withQuery('/admin/fiat/differences', page));
  }

  closeFiatDifference(id: number, note: string): Promise<FiatDifference> {
    return this.#send('POST', `/admin/fiat/differences/${id}/close`, { note });
  }

  /** Orders signed for the contracts before are cancelled; new ones are signed for these once the answer is there. */
  changeContracts(contracts: NewContracts): Promise<PlatformContracts> {
    return this.#requests.sendOrAsk('POST', '/admin/platform/contracts', contracts);
  }

  /** While a drill is enabled, placing is refused with its error. A restart ends all drills. */
  setDrill(refusal: DrillName, enabled: boolean): Promise<ActiveDrills> {
    return this.#send('POST', '/admin/platform/drills', { refusal, enabled });
  }

  /** Lets the alert TestAlert ring for two minutes: a test of the way to the person on call. */
  testAlert(): Promise<AlertTestAnswer> {
    return this.#send('POST', '/admin/platform/alert-test');
  }

  /** Begins a backup into the folder that the exchange's settings name; `backups` says how it goes. */
  backUp(order: BackupOrder = {}): Promise<BackupReport> {
    return this.#send('POST', '/admin/platform/backup', order);
  }

  backups(): Promise<BackupReport> {
    return this.#send('GET', '/admin/platform/backup');
  }

  /** Money of the chain that the ledger does not have yet. */
  waitingMoney(query: WaitingMoneyQuery = {}): Promise<WaitingMoney> {
    return this.#send('GET', withQuery('/admin/settlement/money', query));
  }

  /** Trades that the contract refuses for good. */
  failedTrades(query: FailedTradesQuery = {}): Promise<FailedTrades> {
    return this.#send('GET', withQuery('/admin/settlement/failed', query));
  }

  /** Once the cause is mended. */
  retryTrade(tradeId: string): Promise<MendedTrade> {
    return this.#send('POST', `/admin/settlement/trades/${encodeURIComponent(tradeId)}/retry`);
  }

  /** Undoes it in the ledger. Throws ApprovalNeededError where a second operator could approve it. */
  unwindTrade(tradeId: string): Promise<MendedTrade> {
    return this.#requests.sendOrAsk('POST', `/admin/settlement/trades/${encodeURIComponent(tradeId)}/unwind`);
  }

  /** Changes that wait for a second operator or were decided by one, the newest first. */
  approvals(query: ApprovalsQuery = {}): Promise<Approvals> {
    return this.#send('GET', withQuery('/admin/approvals', query));
  }

  approval(approvalId: string): Promise<Approval> {
    return this.#send('GET', `/admin/approvals/${encodeURIComponent(approvalId)}`);
  }

  /** Carries out what another operator has asked for. */
  approve(approvalId: string): Promise<Approval> {
    return this.#send('POST', `/admin/approvals/${encodeURIComponent(approvalId)}/approve`);
  }

  reject(approvalId: string): Promise<Approval> {
    return this.#send('POST', `/admin/approvals/${encodeURIComponent(approvalId)}/reject`);
  }

  /** The newest records first; `next_cursor` of a page is the cursor of the next one. */
  audit(query: AuditQuery = {}): Promise<AuditPage> {
    return this.#send('GET', withQuery('/admin/audit', query));
  }

  /** The only answer that contains the token of the operator. */
  createOperator(operator: NewOperator): Promise<IssuedOperator> {
    return this.#send('POST', '/admin/operators', operator);
  }

  operators(): Promise<Operators> {
    return this.#send('GET', '/admin/operators');
  }

  revokeOperator(operatorId: string): Promise<Operator> {
    return this.#send('DELETE', `/admin/operators/${encodeURIComponent(operatorId)}`);
  }

  ledger(): Promise<Ledger> {
    return this.#send('GET', '/admin/ledger');
  }

  async metrics(): Promise<string> {
    return new Response(await this.#requests.open('/metrics')).text();
  }

  #send<T>(method: string, path: string, payload?: unknown): Promise<T> {
    return this.#requests.send(method, path, payload);
  }
}
