/** The whole state of an engine as events, for a gateway thread or a replica that starts with it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OUTCOME } from '../../../../shared/base/codes.ts';
import { decodeEvents } from '../../../../shared/wire/events.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import { EngineRig } from '../../../support/engineRig.ts';

const PIECE_BYTES = 1 << 19;
const LONGEST_EVENT_BYTES = 4096;
/** USDC and positions of this many accounts take several pieces each. */
const ACCOUNTS = 20_000;

test('a state comes in pieces of half a MiB, however many accounts and positions it has', () => {
  const rig = new EngineRig();
  rig.market(0);
  const { ledger } = rig.engine.state;
  for (let account = 1; account <= ACCOUNTS; account++) {
    ledger.credit(account, account);
    ledger.addTokens(account, 0, OUTCOME.YES, account);
  }
  const out = new RecordBuffer(1024);
  const pieces: number[] = [];
  let accounts = 0;
  rig.engine.describe(() => {
    pieces.push(out.lengthBytes);
    accounts += decodeEvents(out.words, 0, out.lengthBytes >>> 2).filter(({ name }) => name === 'ACCOUNT').length;
    out.clear();
  }, out);
  const last = pieces.pop()!;
  assert.ok(pieces.length >= 3 && last <= PIECE_BYTES + LONGEST_EVENT_BYTES, `${pieces.length} pieces, then ${last}`);
  for (const bytes of pieces) assert.ok(bytes > PIECE_BYTES && bytes <= PIECE_BYTES + LONGEST_EVENT_BYTES, `${bytes}`);
  assert.equal(accounts, 2 * ACCOUNTS, 'the USDC and the position of each');
});
