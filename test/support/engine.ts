/** Engines in the test's own thread: how one is made, journals in memory, and the whole state as bytes. */
import { Engine } from '../../engine/core/engine.ts';
import type { JournalRecord } from '../../engine/journal/journalRecord.ts';
import type { JournalStore } from '../../engine/journal/journalStore.ts';
import { digestsBy, LoneChecks } from '../../engine/verify/orderChecks.ts';
import type { Verifier } from '../../engine/verify/verifier.ts';
import { ERRORS, OK } from '../../shared/base/errors.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor } from '../../shared/crypto/eip712.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { EVENT } from '../../shared/wire/events.ts';

/** As in shards: with the reference, digests took a third of the time of many tests. */
const keccak = await createKeccak();
const acceptAll: Verifier = { name: 'noble', verify: () => true };

export const DOMAIN = {
  name: DOMAIN_NAME,
  version: DOMAIN_VERSION,
  chainId: 137,
  verifyingContract: '0x00000000000000000000000000000000000000ee',
};

/** Keeps the appended records, as a journal would, and hands them to a fresh engine. */
export class MemoryJournal implements Pick<JournalStore, 'append'> {
  readonly rows: JournalRecord[] = [];

  /** A copy of the present content, which later appends do not change: everything that was durable at this moment. */
  copy(): MemoryJournal {
    const copy = new MemoryJournal();
    copy.rows.push(...this.rows);
    return copy;
  }

  append(row: JournalRecord): void {
    this.rows.push(row.copy());
  }
}

/**
 * The state of an engine as bytes: the events it would publish to a gateway that starts now, and its next numbers. Its
 * clock is left out: refused commands move it and are not in the journal.
 */
export function stateOf(engine: Engine): Buffer {
  const { out, state } = engine;
  const parts: Buffer[] = [];
  engine.describe(() => {
    parts.push(Buffer.from(out.bytes.slice(0, out.lengthBytes)));
    out.clear();
  });
  const ready = parts.at(-1)!;
  ready.fill(0, ready.length - EVENT.READY.BYTES + EVENT.READY.timeMs * 4);
  const digest = new Uint32Array(2);
  state.writeDigest(digest, 0);
  const counters = [
    engine.sequence,
    state.orderSequence,
    state.matcher.tradeSequence,
    state.digest.accepted.count,
    state.references.size,
    state.tombstones.size,
    ...digest,
    state.orders.openCount,
    state.expiry.size,
    state.markets.transitions.firstMs,
  ];
  return Buffer.concat([...parts, Buffer.from(new Float64Array(counters).buffer)]);
}

export function replayRows(engine: Engine, journal: MemoryJournal): void {
  for (const row of journal.rows) engine.replay(row);
}

/** An engine over a journal of the test's own, with balances of its own. */
export function engineWith(journal: Pick<JournalStore, 'append'>): Engine {
  return makeEngine(new Balances(createBalances()), journal, true);
}

/** Every digest and every signature is worked out when the engine asks. */
export function loneChecks(verifier: Verifier = acceptAll): LoneChecks {
  return new LoneChecks(digestsBy(hasherFor(DOMAIN, keccak)), verifier);
}

/** Signatures are taken for granted unless there is a verifier. */
export function makeEngine(
  balances: Balances,
  journal: Pick<JournalStore, 'append'>,
  collateralCheck: boolean,
  verifier: Verifier = acceptAll,
  rowsOfRecord?: number,
): Engine {
  return new Engine({ balances, collateralCheck, checks: loneChecks(verifier), journal, rowsOfRecord });
}

/** The name of a refusal by its number, so that a failed comparison reads FOK_NOT_FILLED and not 701. */
export function errorKey(number: number): string {
  if (number === OK) return 'OK';
  return Object.entries(ERRORS).find(([, row]) => row.number === number)?.[0] ?? `unknown error ${number}`;
}
