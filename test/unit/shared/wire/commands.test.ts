import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import {
  ANY_COMMAND,
  assertCommand,
  COMMAND,
  claimCommand,
  decodeCommand,
  EXTENDED_PLACE,
  KEYED_CANCEL,
  KEYED_CONVERT,
  NO_MARKET,
  packKind,
} from '../../../../shared/wire/commands.ts';
import { writeSafe } from '../../../../shared/wire/record.ts';
import { RingProducer } from '../../../../shared/wire/ring.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';

const T0 = 1_800_000_000_000;

describe('a command', () => {
  it('is claimed with its header, and decoded by the names of its fields', () => {
    const ring = new RingProducer(createRingBuffer(4096));
    const word = claimCommand(ring, COMMAND.PLACE.TYPE, 7, 3, T0, 2, 0);
    ring.words[word + COMMAND.PLACE.kind] = packKind(1, 1, TIME_IN_FORCE.FOK, 3);
    writeSafe(ring.words, word + COMMAND.PLACE.makerAmount, Number.MAX_SAFE_INTEGER);
    const command = decodeCommand(ring.words, word);
    assert.ok(command.name === 'PLACE');
    const { requestId, account, timeMs, market, kind, makerAmount } = command;
    assert.deepEqual([requestId, account, timeMs, market, makerAmount], [7, 3, T0, 2, Number.MAX_SAFE_INTEGER]);
    assert.deepEqual(kind, { side: 1, outcome: 1, timeInForce: TIME_IN_FORCE.FOK, bits: 3 });
  });

  it('may have the long form of its type, and no other length', () => {
    const ring = new RingProducer(createRingBuffer(4096));
    const claim = (type: 1 | 2 | 4 | 8, bytes: number) => claimCommand(ring, type, 1, 1, T0, NO_MARKET, 0, bytes);
    claim(COMMAND.PLACE.TYPE, EXTENDED_PLACE.BYTES);
    claim(COMMAND.CANCEL.TYPE, KEYED_CANCEL.BYTES);
    claim(COMMAND.CONVERT.TYPE, KEYED_CONVERT.BYTES);
    assert.throws(() => claim(COMMAND.CONVERT.TYPE, KEYED_CANCEL.BYTES), /COMMAND-2/);
    assert.throws(() => claim(COMMAND.PLACE.TYPE, KEYED_CANCEL.BYTES), /COMMAND-2/);
    assert.throws(() => claim(COMMAND.TICK.TYPE, EXTENDED_PLACE.BYTES), /COMMAND-2/);
    assert.throws(() => claim(COMMAND.TICK.TYPE, KEYED_CANCEL.BYTES), /COMMAND-2/);
    assert.throws(() => claim(COMMAND.CANCEL.TYPE, EXTENDED_PLACE.BYTES), /COMMAND-2/);
  });

  it('of another version or of no known type is refused by its reader', () => {
    const ring = new RingProducer(createRingBuffer(4096));
    const word = claimCommand(ring, COMMAND.TICK.TYPE, 1, 1, T0, NO_MARKET, 0);
    const header = ring.words[word + ANY_COMMAND.type];
    ring.words[word + ANY_COMMAND.type] = header + (1 << 16);
    assert.throws(() => assertCommand(ring.words, word), /COMMAND-1/);
    ring.words[word + ANY_COMMAND.type] = header + 999;
    assert.throws(() => assertCommand(ring.words, word), /COMMAND-2/);
  });
});
