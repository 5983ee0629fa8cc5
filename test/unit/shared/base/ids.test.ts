import assert from 'node:assert/strict';
import { it } from 'node:test';
import { bytesToUuid } from '../../../../shared/base/hex.ts';
import {
  carriedIdBytes,
  ID_KIND,
  isCarriedId,
  timeOrderedId,
  timeOrderedIdBytes,
} from '../../../../shared/base/ids.ts';

const NOW = 1_800_000_000_000;

it('an id has the layout of a version 7 UUID', () => {
  assert.equal(
    timeOrderedId(0x0123_4567_89ab, 0xabc, ID_KIND.ORDER, 0x11_2233_4455),
    '01234567-89ab-7abc-8100-001122334455',
  );
  const text = timeOrderedId(NOW, 4095, ID_KIND.MOVEMENT, Number.MAX_SAFE_INTEGER);
  assert.match(text, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

it('ids sort by time, then by shard, then by sequence, as text', () => {
  const ids = [
    timeOrderedId(NOW, 0, ID_KIND.ORDER, 255),
    timeOrderedId(NOW, 0, ID_KIND.ORDER, 256),
    timeOrderedId(NOW, 0, ID_KIND.ORDER, 2 ** 40),
    timeOrderedId(NOW, 1, ID_KIND.ORDER, 0),
    timeOrderedId(NOW + 1, 0, ID_KIND.ORDER, 0),
    timeOrderedId(NOW + 2 ** 40, 0, ID_KIND.ORDER, 0),
  ];
  assert.deepEqual(ids.toSorted(), ids);
});

it('ids of one moment differ by kind, shard or sequence number', () => {
  const ids = new Set<string>();
  for (const kind of Object.values(ID_KIND)) {
    for (const shard of [0, 1, 4095]) {
      for (const sequence of [0, 1, 255, 256, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
        ids.add(timeOrderedId(NOW, shard, kind, sequence));
      }
    }
  }
  assert.equal(ids.size, Object.keys(ID_KIND).length * 3 * 6);
});

it('an id is the same as text and as bytes', () => {
  for (const timeMs of [0, NOW, 2 ** 48 - 1]) {
    for (const shard of [0, 1, 4095]) {
      for (const sequence of [0, 255, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
        const bytes = timeOrderedIdBytes(timeMs, shard, ID_KIND.TRADE, sequence);
        assert.equal(bytesToUuid(bytes), timeOrderedId(timeMs, shard, ID_KIND.TRADE, sequence));
      }
    }
  }
});

it('a shard index beyond 12 bits is a bug', () => {
  assert.throws(() => timeOrderedId(NOW, 4096, ID_KIND.ORDER, 0), /12 bits/);
});

it('what accounts had when history began has an id of its own, up to the last account', () => {
  const NO_MARKET = 0xffff_ffff;
  const ids = new Map<string, string>();
  for (const account of [1, 2, 2 ** 20 - 1, 2 ** 20, 2 ** 20 + 1, 2 ** 21, 2 ** 25 + 7, 2 ** 26 - 1]) {
    for (const market of [0, 1, 7, 8, 2 ** 20, 2 ** 29 - 2, NO_MARKET]) {
      const bytes = carriedIdBytes(NOW, 3, account, market);
      const id = bytesToUuid(bytes);
      assert.equal(ids.get(id), undefined, `${account}/${market}`);
      ids.set(id, `${account}/${market}`);
      assert.ok(isCarriedId(bytes) && id < timeOrderedId(NOW, 3, ID_KIND.ORDER, 0), `${account}/${market} is first`);
    }
  }
  assert.equal(bytesToUuid(carriedIdBytes(NOW, 3, 5, 6)), timeOrderedId(NOW, 3, ID_KIND.CARRIED, 5 * 2 ** 32 + 6));
});
