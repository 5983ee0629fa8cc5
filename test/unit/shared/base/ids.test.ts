import assert from 'node:assert/strict';
import { it } from 'node:test';
import { bytesToUuid } from '../../../../shared/base/hex.ts';
import { ID_KIND, timeOrderedId, timeOrderedIdBytes } from '../../../../shared/base/ids.ts';

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
