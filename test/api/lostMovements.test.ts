/**
 * Movements of money that control.db has lost, on the files of a stopped exchange: they are counted, made anew out of
 * the journals by `control repair`, and a repeat by the old reference moves nothing twice (RULES.md 10.32).
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { runAdminHere } from '../support/adminProgram.ts';
import { type Answer, startServer } from '../support/server.ts';
import { assertBalanced, makeTrader } from '../support/traders.ts';

const AMOUNT = '5000000';
const PAPERS = ['paper 1', 'paper 2'];

test('a lost deposit is counted and made anew, and a repeat by its old reference moves nothing twice', async (t) => {
  const server = await startServer(t);
  const trader = await makeTrader(server);
  const deposit = (reference: string, amount = AMOUNT): Promise<Answer> => {
    const body = { amount_usdc_micro: amount, reference };
    return server.adminRequest('POST', `/admin/users/${trader.userId}/deposits`, body);
  };
  for (const paper of PAPERS) assert.equal((await deposit(paper)).status, 201);
  const { usdc } = await trader.client.balances();
  await server.stop();
  const control = new Database(join(server.dataDir, 'control.db'));
  control.exec("DELETE FROM movements WHERE reference LIKE 'paper %'");
  control.close();
  const admin = (...args: string[]) => runAdminHere(args, { DATA_DIR: server.dataDir });
  const verified = await admin('journal', 'verify');
  assert.equal(verified.status, 1);
  assert.match(verified.stdout, /movements '[^']+': gone/);
  const audited = await admin('audit');
  assert.match(audited.stdout, /a deposit of 5000000 micro-USDC of account 1, which was not ordered\n/);
  assert.match(audited.stdout, /^next: `npm run admin -- journal verify` says/m);
  const repaired = await admin('control', 'repair', '--accept-loss');
  assert.equal(repaired.status, 0, repaired.stdout + repaired.stderr);
  const made = /^a deposit of 5000000 micro-USDC of account 1 has lost its id and its reference: its id is (\S+) /gm;
  const ids = [...repaired.stdout.matchAll(made)].map(([, id]) => id!);
  assert.equal(ids.length, PAPERS.length);
  for (const command of [['journal', 'verify'], ['audit']]) {
    const { status, stdout } = await admin(...command);
    assert.equal(status, 0, stdout);
  }
  await server.start();
  const again = trader.reconnected();
  for (const paper of PAPERS) {
    const { status, body } = await deposit(paper);
    assert.ok(status < 300 && ids.includes(body.id), JSON.stringify(body));
    assert.equal((await deposit(paper, '6000000')).status, 409);
  }
  assert.deepEqual((await again.client.balances()).usdc, usdc);
  await assertBalanced(server);
});
