/** The slices from which the list of positions is written (RULES.md 14.23). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PositionKey, PositionsTask } from '../../../../gateway/account/positionQueries.ts';
import { positionRoutes } from '../../../../gateway/account/positionsRoutes.ts';
import { SettlementFacts } from '../../../../gateway/shardlink/settlementFacts.ts';
import { LEDGER_SETTLEMENT } from '../../../../gateway/shardlink/settlementPort.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { TestCall } from '../../../support/calls.ts';

const ANN = 7;
const SLICE = 500;

/** An account with this many positions, one per market. */
class Desk {
  readonly tasks: PositionsTask[] = [];
  /** Queries from this one on find the pool busy. */
  busyFrom = Number.POSITIVE_INFINITY;
  readonly #route;

  constructor(positions: number) {
    const ofAccount = async (_account: number, _name: string, task: PositionsTask) => {
      this.tasks.push(task);
      if (this.tasks.length >= this.busyFrom) return { ok: false, row: ERRORS.ENGINE_BUSY };
      const from = task.after[0] + 1;
      const count = Math.min(task.limit, positions - from);
      const texts = Array.from({ length: count }, (_, row) => String(from + row));
      const next: PositionKey | null = count === task.limit ? [from + count - 1, 0] : null;
      return { ok: true, value: { texts, next } };
    };
    this.#route = positionRoutes({
      accounts: { idOf: () => 'ann', escrowOf: () => null },
      settlementFacts: new SettlementFacts(LEDGER_SETTLEMENT),
      catalog: { byId: () => undefined },
      claimMarks: { of: () => new Set([3]) } as never,
      queries: { ofAccount } as never,
      views: {} as never,
    })[0]!;
  }

  async ask(query: object = {}) {
    const asked = new TestCall({ method: 'GET', path: '/v1/user/positions', account: ANN });
    asked.call.query = query;
    let text = '';
    const add = (piece: string): boolean => {
      text += piece;
      return true;
    };
    Object.assign(asked.call.response, { write: add, end: add, onWritable: () => {} });
    await this.#route.handler(asked.call);
    await asked.answered;
    return { text, status: asked.status };
  }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

test('without a limit all positions are answered, however many slices they are', async () => {
  for (const count of [0, 1, SLICE - 1, SLICE, SLICE + 1, 3 * SLICE]) {
    const desk = new Desk(count);
    assert.deepEqual(JSON.parse((await desk.ask()).text), upTo(count));
    assert.equal(desk.tasks.length, Math.floor(count / SLICE) + 1);
    for (const { account, limit, marked } of desk.tasks) {
      assert.deepEqual([account, limit, [...marked]], [ANN, SLICE, [3]]);
    }
  }
});

test('a page is one slice', async () => {
  const desk = new Desk(3 * SLICE);
  assert.deepEqual(JSON.parse((await desk.ask({ limit: 1000 })).text), upTo(1000));
  assert.equal(desk.tasks.length, 1);
});

test('a busy query pool is 503', async () => {
  const desk = new Desk(3 * SLICE);
  desk.busyFrom = 1;
  assert.equal((await desk.ask()).status, 503);
});
