import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { Funding, type FundsEngine, type FundsReply } from '../../../../gateway/operator/funding.ts';
import { completeEventDetails, completeMarketDetails } from '../../../../gateway/operator/marketDetails.ts';
import { MarketCommands, type MarketStates } from '../../../../gateway/operator/markets.ts';
import { parseConfig } from '../../../../gateway/process/config.ts';
import { AccountStates } from '../../../../gateway/store/accountStates.ts';
import { Accounts, type NewUser, type User } from '../../../../gateway/store/accounts.ts';
import { ArmedSwitches } from '../../../../gateway/store/armedSwitches.ts';
import { Catalog, type MarketDetails, type NewMarket } from '../../../../gateway/store/catalog.ts';
import { type Control, openControl } from '../../../../gateway/store/control.ts';
import { type ControlDatabase, openControlDatabase } from '../../../../gateway/store/database.ts';
import type { KeyPolicy } from '../../../../gateway/store/keys.ts';
import type { Changes } from '../../../../gateway/store/laterSync.ts';
import { type FundKind, Movements } from '../../../../gateway/store/movements.ts';
import { TradingTimeouts } from '../../../../gateway/store/tradingTimeouts.ts';
import { MARKET_STATUS, MOVEMENT, SELF_TRADE, UNKNOWN_GRANT } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { uuidToBytes } from '../../../../shared/base/hex.ts';
import { MAX_SAFE } from '../../../../shared/base/int.ts';
import { shardOfMarket } from '../../../../shared/base/sharding.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const NOW_MS = 1_790_000_000_000;
const WALLET_A = `0x${'a1'.repeat(20)}`;
const WALLET_B = `0x${'b2'.repeat(20)}`;
const { DEPOSIT, WITHDRAWAL } = MOVEMENT;

const POLICY: KeyPolicy = {
  scopes: 3,
  tier: 'premium',
  rateLimitOverride: { requests: 7, windowSec: 2 },
  requireSigningVersion: 2,
  selfTradePrevention: SELF_TRADE.CANCEL_OLDEST,
};

function openDatabase(t: TestContext): ControlDatabase {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  return database;
}

function newUser(wallet: string | null): NewUser {
  return { displayName: null, email: null, role: 'user', referralCode: null, wallet };
}

function newMarket(fields: Partial<NewMarket> = {}): NewMarket {
  return {
    eventId: null,
    ticksPerUnit: 100,
    minOrderAtomic: 1_000_000,
    tokenIds: null,
    opening: { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: NOW_MS, endMs: NOW_MS + 1000 },
    details: details('Will it rain?'),
    ...fields,
  };
}

function details(title: string): MarketDetails {
  return completeMarketDetails({ title, description: 'Yes if it does.', category: 'Weather' });
}

describe('control.db', () => {
  test('a second connection is refused for as long as the first is open', () => {
    const path = join(temporaryDirectory(), 'control.db');
    const first = openControlDatabase(path);
    assert.throws(() => openControlDatabase(path), {
      name: 'StartError',
      message: /in use by another server/,
    });
    first.close();
    openControlDatabase(path).close();
  });

  test('of the first version is brought up to date with all that is in it', (t) => {
    const path = join(temporaryDirectory(), 'control.db');
    const old = new Sqlite(path);
    old.exec(readFileSync(new URL('../../../../data/schema/control-001.sql', import.meta.url), 'utf8'));
    old.pragma('user_version = 1');
    old.exec("INSERT INTO users VALUES (1, 'u-1', NULL, NULL, 'user', 'code', NULL, 5)");
    old.close();
    const database = openControlDatabase(path);
    t.after(() => database.close());
    assert.equal(new Accounts(database).idOf(1), 'u-1');
    new ArmedSwitches(database).arm(1, NOW_MS);
    const tradingTimeouts = new TradingTimeouts(database);
    tradingTimeouts.startTimeout(1, 'custom', 1, NOW_MS);
    tradingTimeouts.setPreferences(1, { realityCheckMinutes: 15, sessionTimeoutMinutes: null });
    const again = new TradingTimeouts(database);
    assert.deepEqual(new ArmedSwitches(database).armed(), [1]);
    assert.deepEqual(again.preferences(1), { realityCheckMinutes: 15, sessionTimeoutMinutes: null });
    assert.deepEqual(again.activeTimeout(1, NOW_MS), tradingTimeouts.activeTimeout(1, NOW_MS));
    assert.equal(again.activeTimeout(1, NOW_MS + 3_600_000 - 1)?.durationLabel, 'custom');
    assert.equal(again.activeTimeout(1, NOW_MS + 3_600_000), null, 'over at the instant it ends');
  });

  test('a file of a newer version is refused and left as it is', () => {
    const path = join(temporaryDirectory(), 'control.db');
    openControlDatabase(path).close();
    const newer = new Sqlite(path);
    newer.pragma('user_version = 99');
    newer.close();
    assert.throws(() => openControlDatabase(path), { message: /newer version/ });
  });
});

describe('a trading timeout', () => {
  test('is in force after a restart, whatever ended or was cancelled before it (RULES.md 11.2)', (t) => {
    const database = openDatabase(t);
    new Accounts(database).signUp(newUser(null), NOW_MS);
    const timeouts = new TradingTimeouts(database);
    const hourMs = 3_600_000;
    timeouts.startTimeout(1, 'custom', 1, NOW_MS);
    timeouts.startTimeout(1, 'custom', 5, NOW_MS + hourMs);
    assert.ok(timeouts.cancelTimeout(1, NOW_MS + 2 * hourMs) !== null);
    const active = timeouts.startTimeout(1, '30d', 720, NOW_MS + 3 * hourMs);
    const restarted = new TradingTimeouts(database);
    assert.deepEqual(restarted.activeTimeout(1, NOW_MS + 4 * hourMs), active);
    assert.equal(restarted.activeTimeout(1, active.endsMs), null);
  });

  test('that was cancelled stays cancelled after a restart', (t) => {
    const database = openDatabase(t);
    new Accounts(database).signUp(newUser(null), NOW_MS);
    const timeouts = new TradingTimeouts(database);
    const started = timeouts.startTimeout(1, '24h', 24, NOW_MS);
    assert.deepEqual(timeouts.cancelTimeout(1, NOW_MS + 1), started);
    assert.equal(new TradingTimeouts(database).activeTimeout(1, NOW_MS + 2), null);
  });
});

describe('accounts', () => {
  test('indexes are dense from 1, and 0 owns every wallet that no user has linked', (t) => {
    const accounts = new Accounts(openDatabase(t));
    assert.equal(accounts.signUp(newUser(WALLET_A), NOW_MS).index, 1);
    assert.equal(accounts.signUp(newUser(null), NOW_MS).index, 2);
    assert.equal(accounts.ownerOf(WALLET_A), 1);
    assert.equal(accounts.ownerOf(WALLET_B), 0);
  });

  test('a wallet signs for itself, a delegate for the wallet that named it and for no other', (t) => {
    const accounts = new Accounts(openDatabase(t));
    const user = accounts.signUp(newUser(WALLET_A), NOW_MS);
    const delegate = `0x${'dd'.repeat(20)}`;
    accounts.addWallet(user, WALLET_B);
    accounts.addDelegate(WALLET_A, delegate);
    assert.ok(accounts.grantOf(1, WALLET_A, WALLET_A) > 0);
    assert.ok(accounts.grantOf(1, WALLET_A, delegate) > 0);
    assert.equal(accounts.grantOf(1, WALLET_B, delegate), UNKNOWN_GRANT);
    assert.equal(accounts.grantOf(1, WALLET_A, WALLET_B), UNKNOWN_GRANT);
  });

  test('the escrow of an account is its first wallet for ever, also over a restart and while it is not linked', (t) => {
    const database = openDatabase(t);
    const accounts = new Accounts(database);
    const user = accounts.signUp(newUser(null), NOW_MS);
    assert.equal(accounts.escrowOf(user.index), null);
    for (const wallet of [WALLET_B, WALLET_A]) accounts.addWallet(user, wallet);
    accounts.grants.remove(WALLET_B, null, NOW_MS);
    accounts.unlink(WALLET_B);
    accounts.addWallet(user, WALLET_B);
    assert.deepEqual(user.wallets, [WALLET_A, WALLET_B]);
    assert.equal(accounts.escrowOf(user.index), WALLET_B);
    assert.equal(new Accounts(database).escrowOf(user.index), WALLET_B);
  });

  test('a wallet that has an owner is never linked again', (t) => {
    const accounts = new Accounts(openDatabase(t));
    accounts.signUp(newUser(WALLET_A), NOW_MS);
    const other = accounts.signUp(newUser(null), NOW_MS);
    assert.throws(() => accounts.addWallet(other, WALLET_A), { message: /ACCOUNTS-2/ });
    assert.throws(() => accounts.signUp(newUser(WALLET_A), NOW_MS));
    assert.equal(accounts.count, 2);
    assert.equal(accounts.ownerOf(WALLET_A), 1);
  });

  test('users, wallets in their order and delegates come back from the file', (t) => {
    const database = openDatabase(t);
    const before = new Accounts(database);
    const referrer = before.signUp(newUser(null), NOW_MS);
    const user = before.signUp(
      {
        displayName: 'Ann',
        email: 'ann@example.org',
        role: 'desk',
        referralCode: referrer.referralCode,
        wallet: WALLET_B,
      },
      NOW_MS + 1,
    );
    before.addWallet(user, WALLET_A);
    before.addDelegate(WALLET_A, WALLET_B);
    const after = new Accounts(database);
    assert.deepEqual(after.byId(user.id), user);
    assert.deepEqual(after.byId(user.id)!.wallets, [WALLET_B, WALLET_A]);
    assert.deepEqual(
      [after.byId(user.id)!.referredBy, after.referredBy(referrer.index)],
      [referrer.index, [user.index]],
    );
    assert.ok(after.grantOf(user.index, WALLET_A, WALLET_B) > 0);
    assert.equal(after.idOf(2), user.id);
  });
});

describe('signing up', () => {
  test('RULES.md 14.74: a code counts in any case; one that no account had before is ignored', (t) => {
    const accounts = new Accounts(openDatabase(t));
    const { referralCode } = accounts.signUp(newUser(null), NOW_MS);
    const codes = [null, '', 'NOSUCHCODE', referralCode, ` ${referralCode.toLowerCase()}\n`];
    const users = codes.map((code) => accounts.signUp({ ...newUser(null), referralCode: code }, NOW_MS));
    assert.deepEqual(
      users.map((user) => user.referredBy),
      [null, null, null, 1, 1],
    );
    assert.deepEqual(accounts.referredBy(1), [5, 6]);
    assert.deepEqual(accounts.referredBy(2), []);
  });

  test('ACCOUNTS-4: the account is there with all that is kept about it, or not at all', (t) => {
    const database = openDatabase(t);
    const accounts = new Accounts(database);
    database.exec('CREATE TABLE kept (account_index INTEGER REFERENCES users (account_index))');
    const referrer = accounts.signUp(newUser(null), NOW_MS);
    const fields = { ...newUser(WALLET_A), referralCode: referrer.referralCode };
    const keep = ({ index }: User) => void database.prepare('INSERT INTO kept VALUES (?)').run(index);
    const fail = (user: User): void => {
      keep(user);
      throw new Error('failed');
    };
    assert.throws(() => accounts.signUp(fields, NOW_MS, fail), { message: 'failed' });
    for (const found of [accounts, new Accounts(database)]) {
      assert.deepEqual([found.count, found.ownerOf(WALLET_A), found.referredBy(1)], [1, 0, []]);
    }
    accounts.signUp(fields, NOW_MS, keep);
    assert.deepEqual(database.prepare('SELECT * FROM kept').all(), [{ account_index: 2 }]);
    for (const found of [accounts, new Accounts(database)]) {
      assert.deepEqual([found.count, found.ownerOf(WALLET_A), found.referredBy(1)], [2, 2, [2]]);
    }
  });
});

describe('keys and secrets', () => {
  test('a key comes back with its secret and its policy', (t) => {
    const dataDir = temporaryDirectory();
    const before = open(dataDir);
    const user = before.accounts.signUp(newUser(null), NOW_MS);
    const { key, secret } = before.keys.issue(user, POLICY, NOW_MS + 5, NOW_MS);
    before.database.close();
    const after = open(dataDir);
    t.after(() => after.database.close());
    const found = after.keys.find(key.keyId)!;
    const signature = createHmac('sha256', Buffer.from(secret, 'base64url')).update('text').digest('base64');
    assert.ok(found.secret.accepts(signature, 'text', new Uint8Array(0)));
    assert.deepEqual({ ...found, secret: null }, { ...key, secret: null });
  });

  test('a revoked key stays known as revoked, also after a restart', (t) => {
    const dataDir = temporaryDirectory();
    const before = open(dataDir);
    const { key } = before.keys.issue(before.accounts.signUp(newUser(null), NOW_MS), POLICY, null, NOW_MS);
    before.keys.revoke(key.keyId, NOW_MS);
    before.keys.revoke(key.keyId, NOW_MS + 1);
    assert.ok(before.keys.find(key.keyId)!.revoked);
    before.database.close();
    const after = open(dataDir);
    t.after(() => after.database.close());
    assert.ok(after.keys.find(key.keyId)!.revoked);
  });

  test('no file holds a secret, a passphrase or the administrator’s token in clear', (t) => {
    const dataDir = temporaryDirectory();
    const control = open(dataDir);
    t.after(() => control.database.close());
    const issued = control.keys.issue(control.accounts.signUp(newUser(null), NOW_MS), POLICY, null, NOW_MS);
    const bytes = Buffer.concat(readdirSync(dataDir).map((name) => readFileSync(join(dataDir, name))));
    assert.ok(bytes.includes(issued.key.keyId));
    const secrets = [issued.secret, issued.passphrase, control.adminToken.token];
    for (const secret of secrets) assert.ok(!bytes.includes(secret));
    assert.ok(!bytes.includes(Buffer.from(issued.secret, 'base64url')));
  });

  test('a master key is made once, for its owner alone, and another one is refused', () => {
    const dataDir = temporaryDirectory();
    open(dataDir).database.close();
    const path = join(dataDir, 'master.key');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.throws(() => open(dataDir, { MASTER_KEY: '11'.repeat(32) }), {
      name: 'ConfigError',
      message: /not the key/,
    });
    writeFileSync(path, 'no key at all');
    assert.throws(() => open(dataDir), { name: 'ConfigError', message: /does not hold a master key/ });
    rmSync(path);
    assert.throws(() => open(dataDir), { name: 'ConfigError', message: /was made with one/ });
  });

  test('a given master key is written nowhere and asked for again', () => {
    const dataDir = temporaryDirectory();
    open(dataDir, { MASTER_KEY: '22'.repeat(32) }).database.close();
    assert.ok(!readdirSync(dataDir).includes('master.key'));
    open(dataDir, { MASTER_KEY: '22'.repeat(32) }).database.close();
  });

  test('a made token is new once and stays the same; a given one goes before it', () => {
    const dataDir = temporaryDirectory();
    const first = open(dataDir);
    first.database.close();
    assert.ok(first.adminToken.isNew);
    const second = open(dataDir);
    second.database.close();
    assert.deepEqual(second.adminToken, { token: first.adminToken.token, isNew: false });
    const given = open(dataDir, { ADMIN_TOKEN: 'mine' });
    given.database.close();
    assert.deepEqual(given.adminToken, { token: 'mine', isNew: false });
  });

  test('a token is read from ADMIN_TOKEN_FILE, and a file that holds none stops the start (RULES.md 9.50)', () => {
    const path = join(temporaryDirectory(), 'token');
    const openWith = (text: string | null, env: Record<string, string> = {}): string => {
      if (text !== null) writeFileSync(path, text);
      const control = open(temporaryDirectory(), { ADMIN_TOKEN_FILE: path, ...env });
      control.database.close();
      return control.adminToken.token;
    };
    assert.throws(() => openWith(null), {
      name: 'ConfigError',
      message: /^ADMIN_TOKEN_FILE: cannot read .* \(ENOENT\)$/,
    });
    assert.equal(openWith('  mine \n'), 'mine');
    for (const text of ['', '\n', 'two words', 'a\nb', 'tök', 'x'.repeat(1001)]) {
      assert.throws(() => openWith(text), { name: 'ConfigError', message: /^ADMIN_TOKEN_FILE: .*: expected one line/ });
    }
    const exposed = { HOST: '0.0.0.0', TRUST_PROXY: '10.0.0.1' };
    assert.equal(openWith('x'.repeat(32), exposed), 'x'.repeat(32));
    assert.throws(() => openWith('x'.repeat(31), exposed), { name: 'ConfigError', message: /at least 32 characters/ });
    assert.throws(() => openWith('mine', { ADMIN_TOKEN: 'other' }), {
      name: 'ConfigError',
      message: /set one of them/,
    });
  });

  test('the number of shards is fixed by the first start', () => {
    const dataDir = temporaryDirectory();
    open(dataDir, { SHARDS: '3' }).database.close();
    const later = open(dataDir);
    later.database.close();
    assert.equal(later.shards, 3);
    assert.throws(() => open(dataDir, { SHARDS: '2' }), { name: 'ConfigError', message: /SHARDS.*made with 3/ });
  });
});

describe('catalogue', () => {
  test('derived token ids are the same for ever and differ between outcomes and markets', (t) => {
    const database = openDatabase(t);
    const catalog = new Catalog(database, 2);
    const markets = [catalog.createMarket(newMarket(), NOW_MS), catalog.createMarket(newMarket(), NOW_MS)];
    const tokens = markets.flatMap((market) => [market.yesTokenId, market.noTokenId]);
    assert.equal(new Set(tokens).size, 4);
    for (const market of markets) assert.equal(catalog.byToken(market.noTokenId), market);
  });

  test('markets made in one millisecond still have an order of creation', (t) => {
    const catalog = new Catalog(openDatabase(t), 1);
    const first = catalog.createMarket(newMarket(), NOW_MS);
    const second = catalog.createMarket(newMarket(), NOW_MS);
    const third = catalog.createMarket(newMarket(), NOW_MS - 1000);
    assert.ok(first.createdMs < second.createdMs && second.createdMs < third.createdMs);
  });

  test('a market that is taken back frees its tokens, its place and its event', (t) => {
    const catalog = new Catalog(openDatabase(t), 1);
    const event = catalog.createEvent('rain', completeEventDetails({ title: 'Rain' }, NOW_MS), NOW_MS);
    const fields = newMarket({ eventId: event.id, tokenIds: ['1', '2'] });
    catalog.removeNewest(catalog.createMarket(fields, NOW_MS));
    assert.deepEqual(event.markets, []);
    assert.equal(catalog.byToken('1'), undefined);
    assert.equal(catalog.createMarket(fields, NOW_MS).index, 0);
  });

  test('markets and events come back as they were last written', (t) => {
    const database = openDatabase(t);
    const before = new Catalog(database, 4);
    const event = before.createEvent('rain', completeEventDetails({ title: 'Rain' }, NOW_MS), NOW_MS);
    const market = before.createMarket(newMarket(), NOW_MS);
    before.updateMarket(market, event.id, { ...market.details, title: 'Will it pour?', line: 0.5 }, NOW_MS);
    before.updateEvent(event, { ...event.details, status: 'live' }, NOW_MS);
    const after = new Catalog(database, 4);
    assert.deepEqual(after.byId(market.id), market);
    assert.deepEqual(after.eventBySlug('rain'), event);
    assert.equal(after.eventById(event.id)!.markets[0], after.byIndex(0));
  });

  test('several markets are made in one transaction, all or none', (t) => {
    const database = openDatabase(t);
    const catalog = new Catalog(database, 2);
    const made = catalog.createMarkets([newMarket(), newMarket()], NOW_MS);
    assert.deepEqual(new Catalog(database, 2).markets, made);
    const twice = newMarket({ id: made[0].id });
    assert.throws(() => catalog.createMarkets([newMarket(), twice], NOW_MS), /UNIQUE/);
    assert.equal(catalog.markets.length, 2);
    assert.equal(new Catalog(database, 2).markets.length, 2);
  });

  test('a market id is found in either case', (t) => {
    const catalog = new Catalog(openDatabase(t), 1);
    const market = catalog.createMarket(newMarket(), NOW_MS);
    assert.equal(catalog.byId(market.id.toUpperCase()), market);
  });

  test('a market’s shard is FNV-1a of its id, and ids spread over all shards', () => {
    const id = new Uint8Array(16);
    uuidToBytes('6ff7e213-1b80-4383-aa22-16f15b3779f6', id, 0);
    let hash = 2166136261n;
    for (const byte of id) hash = ((hash ^ BigInt(byte)) * 16777619n) % 2n ** 32n;
    assert.equal(shardOfMarket(id, 7), Number(hash % 7n));
    const seen = new Set<number>();
    for (let byte = 0; byte < 64; byte++) seen.add(shardOfMarket(id.with(15, byte), 4));
    assert.equal(seen.size, 4);
  });
});

describe('market commands', () => {
  test('a shard opens a market only once its row survives a power cut', async (t) => {
    const database = openDatabase(t);
    const order: string[] = [];
    let synced = (): void => undefined;
    const changes: Changes = {
      isDurable: false,
      write: (change) => {
        change();
        order.push('written');
      },
      durable: () => new Promise<void>((resolve) => (synced = resolve)).then(() => void order.push('durable')),
    };
    const catalog = new Catalog(database, 1, changes);
    const openMarket = async () => {
      order.push('opened');
      return { code: OK };
    };
    const engine = { ...engineOf(OK), openMarket };
    const opened = new MarketCommands(catalog, STATES, engine, new ManualClock(NOW_MS)).open(newMarket());
    await Promise.resolve();
    assert.deepEqual(order, ['written']);
    synced();
    await opened;
    assert.deepEqual(order, ['written', 'durable', 'opened']);
  });

  test('a market that its shard refuses is in no file', async (t) => {
    const { marketCommands, catalog, database } = deskWith(t, E.ENGINE_BUSY);
    const opened = await marketCommands.open(newMarket());
    assert.ok('refusal' in opened && opened.refusal.row.code === 'ENGINE_BUSY');
    assert.equal(catalog.markets.length, 0);
    assert.equal(new Catalog(database, 1).markets.length, 0);
  });

  test('a market whose outcome is unknown stays, to be opened at the next start', async (t) => {
    const { marketCommands, catalog } = deskWith(t, E.OUTCOME_UNKNOWN);
    await marketCommands.open(newMarket());
    assert.equal(catalog.markets.length, 1);
  });

  test('of two markets made at once with the same tokens one is refused', async (t) => {
    const { marketCommands, catalog } = deskWith(t, OK);
    const fields = newMarket({ tokenIds: ['7', '8'] });
    const [first, second] = await Promise.all([marketCommands.open(fields), marketCommands.open(fields)]);
    assert.ok('market' in first);
    assert.ok('refusal' in second && second.refusal.row.code === 'CONFLICT');
    assert.equal(catalog.markets.length, 1);
  });

  test('a change that the shard refuses changes no description', async (t) => {
    const { marketCommands, catalog } = deskWith(t, E.INVALID_TRANSITION);
    const market = catalog.createMarket(newMarket(), NOW_MS);
    const refusal = await marketCommands.change(market, {
      status: MARKET_STATUS.LOCKED,
      details: { title: 'Another' },
    });
    assert.equal(refusal?.row.code, 'CONFLICT');
    assert.equal(market.details.title, 'Will it rain?');
  });
});

describe('fund movements', () => {
  test('a reference moves money once and every repeat answers the first movement', async (t) => {
    const { funding, sent } = fundingWith(t, [OK]);
    const first = await funding.move(1, DEPOSIT, 5_000_000, 'r1');
    const second = await funding.move(1, DEPOSIT, 5_000_000, 'r1');
    assert.equal(first.movement?.status, 'completed');
    assert.deepEqual(second, first);
    assert.equal(sent.length, 1);
  });

  test('two requests at once with one reference wait for one movement', async (t) => {
    const { funding, sent } = fundingWith(t, [OK]);
    const [first, second] = await Promise.all([
      funding.move(1, DEPOSIT, 5_000_000, 'r1'),
      funding.move(1, DEPOSIT, 5_000_000, 'r1'),
    ]);
    assert.deepEqual(second, first);
    assert.equal(sent.length, 1);
  });

  test('a used reference with another amount is a conflict, also while the first is under way', async (t) => {
    const { funding } = fundingWith(t, [OK]);
    const results = await Promise.all([funding.move(1, DEPOSIT, 5, 'r1'), funding.move(1, DEPOSIT, 6, 'r1')]);
    assert.equal(codeOf(results[1]), E.CONFLICT);
    assert.equal(codeOf(await funding.move(1, DEPOSIT, 6, 'r1')), E.CONFLICT);
  });

  test('the same reference of another account or another direction is another movement', async (t) => {
    const { funding, sent } = fundingWith(t, [OK, OK, OK]);
    await funding.move(1, DEPOSIT, 5, 'r1');
    await funding.move(2, DEPOSIT, 5, 'r1');
    await funding.move(1, WITHDRAWAL, 5, 'r1');
    assert.equal(new Set(sent).size, 3);
  });

  test('a refused withdrawal says what is missing, and its reference may be used for another amount', async (t) => {
    const { funding, sent } = fundingWith(t, [E.INSUFFICIENT_BALANCE, OK]);
    const refused = await funding.move(1, WITHDRAWAL, 9, 'r1');
    assert.deepEqual(refused, {
      movement: null,
      code: E.INSUFFICIENT_BALANCE,
      details: { asset: 'USDC', required: '1', available: '2', reserved: '3' },
    });
    const done = await funding.move(1, WITHDRAWAL, 4, 'r1');
    assert.equal(done.movement?.amountMicro, 4);
    assert.equal(new Set(sent).size, 1);
  });

  test('what a busy engine did not take is not sent by a later start', async (t) => {
    const { funding, movements } = fundingWith(t, [E.ENGINE_BUSY]);
    assert.equal(codeOf(await funding.move(1, DEPOSIT, 5, 'r1')), E.ENGINE_BUSY);
    assert.deepEqual(movements.pending(), []);
  });

  test('a movement whose outcome is unknown stays pending through a busy retry until it is known', async (t) => {
    const { funding, movements, sent } = fundingWith(t, [E.OUTCOME_UNKNOWN, E.ENGINE_BUSY, OK]);
    await funding.move(1, DEPOSIT, 5, 'r1');
    await funding.move(1, DEPOSIT, 5, 'r1');
    assert.equal(movements.pending().length, 1);
    await funding.resumePending();
    assert.deepEqual(movements.pending(), []);
    assert.equal(movements.find(1, DEPOSIT, 'r1')!.status, 'completed');
    assert.equal(new Set(sent).size, 1);
  });

  test('a refusal is answered once it survives a power cut, so that no later start sends it', async (t) => {
    const disk: (() => void)[] = [];
    const changes: Changes = {
      isDurable: false,
      write: (change) => change(),
      durable: () => new Promise((resolve) => disk.push(resolve)),
    };
    const { funding, movements, sent } = fundingWith(t, [E.INSUFFICIENT_BALANCE], changes);
    let isAnswered = false;
    const result = funding.move(1, WITHDRAWAL, 9, 'r1').finally(() => {
      isAnswered = true;
    });
    disk.shift()!();
    while (movements.find(1, WITHDRAWAL, 'r1')!.status === 'pending') await nextTurn();
    await nextTurn();
    assert.deepEqual([sent.length, isAnswered, disk.length], [1, false, 1]);
    disk.shift()!();
    assert.equal(codeOf(await result), E.INSUFFICIENT_BALANCE);
  });

  test('a movement takes its room when it is sent if it is a deposit, and gives it back if it is refused', (t) => {
    const database = openDatabase(t);
    new Accounts(database).signUp(newUser(null), NOW_MS);
    const movements = new Movements(database);
    const room = (): number[] => {
      const restarted = new Movements(database);
      return [0, 5, 10].filter((micro) => {
        const hasRoom = movements.hasRoomFor(MAX_SAFE - 90 - micro);
        assert.equal(restarted.hasRoomFor(MAX_SAFE - 90 - micro), hasRoom);
        return hasRoom;
      });
    };
    const start = (kind: FundKind, amountMicro: number, reference: string, nowMs: number) =>
      movements.start({ account: 1, kind, amountMicro, reference, market: null }, nowMs);
    movements.complete(start(DEPOSIT, 100, 'a', NOW_MS));
    assert.deepEqual(room(), [10]);
    const withdrawal = start(WITHDRAWAL, 10, 'b', NOW_MS);
    assert.deepEqual(room(), [10], 'not before it has left');
    movements.complete(withdrawal);
    assert.deepEqual(room(), [0, 5, 10]);
    movements.refuse(start(WITHDRAWAL, 10, 'c', NOW_MS));
    assert.deepEqual(room(), [0, 5, 10]);
    const deposit = start(DEPOSIT, 5, 'd', NOW_MS);
    assert.deepEqual(room(), [5, 10]);
    assert.deepEqual(
      movements.pending().map(({ reference }) => reference),
      ['d'],
    );
    movements.refuse(deposit);
    assert.deepEqual(room(), [0, 5, 10]);
    assert.throws(() => movements.complete({ ...deposit, status: 'refused' }), /MOVEMENTS-2/);
    assert.equal(start(DEPOSIT, 7, 'd', NOW_MS + 1).id, deposit.id, 'the same reference, the same id');
    assert.throws(() => start(DEPOSIT, 7, 'a', NOW_MS), /MOVEMENTS-1/);
  });

  test('MOVEMENTS-3: the hash in the journal leads to id and reference, also of rows that had none', async (t) => {
    const { funding, movements, database, sent } = fundingWith(t, [OK, OK]);
    await funding.move(1, DEPOSIT, 5, 'r1');
    await funding.move(2, WITHDRAWAL, 5, 'r1');
    const hashes = sent.map((hex) => Buffer.from(hex, 'hex'));
    const [first, second] = hashes.map((hash) => movements.byHash(hash));
    assert.deepEqual(first, { id: movements.find(1, DEPOSIT, 'r1')!.id, reference: 'r1' });
    assert.deepEqual(second, { id: movements.find(2, WITHDRAWAL, 'r1')!.id, reference: 'r1' });
    assert.equal(movements.byHash(new Uint8Array(32)), undefined);
    database.exec('UPDATE movements SET reference_hash = NULL');
    assert.equal(movements.byHash(hashes[0]!), undefined);
    assert.deepEqual(new Movements(database).byHash(hashes[0]!), first);
  });

  test('deposits stop where the sum of all money would leave the safe integers', async (t) => {
    const { funding, database } = fundingWith(t, [OK, OK, OK, OK]);
    await funding.move(1, DEPOSIT, MAX_SAFE - 1, 'r1');
    assert.equal(codeOf(await funding.move(2, DEPOSIT, 2, 'r2')), E.VALIDATION_ERROR);
    assert.notEqual((await funding.move(2, DEPOSIT, 1, 'r2')).movement, null);
    assert.ok(!new Movements(database).hasRoomFor(1));
    await funding.move(1, WITHDRAWAL, 10, 'r3');
    assert.ok(new Movements(database).hasRoomFor(10));
    assert.ok(!new Movements(database).hasRoomFor(11));
  });
});

function open(dataDir: string, env: Record<string, string> = {}): Control {
  return openControl(parseConfig({ ...env, DATA_DIR: dataDir }, 2));
}

/** A marketCommands whose shard answers every command with the same code. */
function deskWith(t: TestContext, code: number) {
  const database = openDatabase(t);
  const catalog = new Catalog(database, 1);
  const marketCommands = new MarketCommands(catalog, STATES, engineOf(code), new ManualClock(NOW_MS));
  return { database, catalog, marketCommands };
}

const STATES: MarketStates = {
  has: () => true,
  status: () => MARKET_STATUS.ACTIVE,
  startMs: () => NOW_MS,
  endMs: () => NOW_MS + 1000,
};

function engineOf(code: number) {
  const answer = async () => ({ code });
  return { isReady: () => true, openMarket: answer, patchMarket: answer, decideMarket: answer, settleMarket: answer };
}

/** Movements of two accounts whose shard answers with the given codes, one after the other. */
function fundingWith(t: TestContext, codes: number[], changes?: Changes) {
  const database = openDatabase(t);
  const accounts = new Accounts(database);
  for (let count = 0; count < 2; count++) accounts.signUp(newUser(null), NOW_MS);
  const movements = new Movements(database, changes);
  /** The references that were sent. */
  const sent: string[] = [];
  const engine: FundsEngine = {
    funds: async (_account, _kind, _amountMicro, reference): Promise<FundsReply> => {
      sent.push(Buffer.from(reference).toString('hex'));
      const code = codes.shift();
      assert.notEqual(code, undefined, 'more commands were sent than expected');
      return { code: code!, a: 1, b: 2, c: 3 };
    },
  };
  return {
    database,
    movements,
    sent,
    funding: new Funding(movements, engine, new AccountStates(database), new ManualClock(NOW_MS)),
  };
}

function codeOf(result: Awaited<ReturnType<Funding['move']>>): number {
  return result.movement === null ? result.code : OK;
}
