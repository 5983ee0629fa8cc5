/** The machine of a transfer, row by row (RULES.md 16.10). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { canSubmitIn, stepOn, TRANSFER_ROWS, type Trigger } from '../../../../gateway/fiat/machine.ts';
import { messageOf } from '../../../../gateway/fiat/transferStates.ts';
import { TRANSFER_STATES } from '../../../../shared/api/fiat.ts';

const STATES = ['none', ...TRANSFER_STATES] as const;

test('16.10: each row is one step, and everything else changes nothing', () => {
  for (const trigger of new Set(TRANSFER_ROWS.map(({ on }) => on))) {
    for (const state of STATES) {
      const rows = TRANSFER_ROWS.filter(
        ({ on, from }) => on === trigger && (from as readonly string[]).includes(state),
      );
      assert.ok(rows.length <= 1, `${state}, ${trigger}: one row`);
      const step = stepOn(state, trigger, 'submission_pending');
      const [row] = rows;
      if (row === undefined) assert.equal(step, null, `${state}, ${trigger}`);
      else assert.equal(step!.to, row.to === 'held' ? 'submission_pending' : row.to);
    }
  }
});

test('16.10: the rules have the rows of the table, in its order', () => {
  const rules = readFileSync(new URL('../../../../shared/rules/16-cash.md', import.meta.url), 'utf8');
  const table = rules.slice(rules.indexOf('## 16.10'), rules.indexOf('## 16.11'));
  const written = [...table.matchAll(/^\| ([a-z_, ]*?) ?\| (.+) \| (.+) \| (yes|no|) ?\|$/gm)].map(
    ([, from, when, to, canSubmit]) => ({ from, isAlarm: /an alarm$/.test(when!), to, canSubmit }),
  );
  const own = TRANSFER_ROWS.map((row) => ({
    from: row.from.join(', ').replace('none', ''),
    isAlarm: 'alarm' in row,
    to: row.to === 'held' ? 'the state before' : row.to,
    canSubmit: row.to === 'held' ? '' : row.canSubmit ? 'yes' : 'no',
  }));
  assert.deepEqual(written, own);
});

test('16.10: an error goes back to the state before it, and only there', () => {
  for (const held of TRANSFER_STATES) assert.equal(stepOn('recoverable_error', 'cause_gone', held)!.to, held);
  assert.equal(stepOn('recoverable_error', 'cause_gone', null), null);
  const others = TRANSFER_ROWS.map(({ on }): Trigger => on).filter((on) => on !== 'cause_gone');
  for (const on of others) assert.equal(stepOn('recoverable_error', on, 'confirmed'), null, on);
});

test('16.10: the wallet or a retry is offered in three situations and in no other', () => {
  assert.ok(canSubmitIn('waiting_for_wallet', null));
  assert.ok(canSubmitIn('recoverable_error', 'broadcast_refused'));
  assert.ok(canSubmitIn('recoverable_error', 'reverted_in_time'));
  for (const cause of ['provider_mismatched', 'provider_failed']) assert.ok(!canSubmitIn('recoverable_error', cause));
  for (const state of TRANSFER_STATES) {
    if (state !== 'waiting_for_wallet' && state !== 'recoverable_error') assert.ok(!canSubmitIn(state, null), state);
  }
});

test('16.14: every state has a text of its own, and every error', () => {
  const causes = TRANSFER_ROWS.filter(({ to }) => to === 'recoverable_error').map(({ on }) => on);
  const texts = [
    ...TRANSFER_STATES.map((state) => messageOf(state, null)),
    ...causes.map((cause) => messageOf('recoverable_error', cause)),
  ];
  assert.equal(new Set(texts).size, TRANSFER_STATES.length + causes.length);
});
