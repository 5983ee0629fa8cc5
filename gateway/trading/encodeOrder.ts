/**
 * Writes the PLACE command of an order (order.ts) that its shard reads (shared/wire/commands.ts) into the ring: the
 * words that a client sends, and those that the gateway fills in.
 */
import { assert } from '../../shared/base/assert.ts';
import { UNKNOWN_GRANT } from '../../shared/base/codes.ts';
import { youngOf } from '../../shared/wire/ages.ts';
import { writeClientId } from '../../shared/wire/clientId.ts';
import {
  ANY_COMMAND,
  COMMAND,
  EXTENDED_PLACE,
  kindBits,
  NO_GROUP,
  PLACE_BIT_AUTHORIZED,
  PLACE_BIT_CLIENT_ID_TAKEN,
  PLACE_BIT_EXTENDED,
  PLACE_SELF_TRADE_SHIFT,
} from '../../shared/wire/commands.ts';
import { CLIENT_BITS, ENTRY, PLACE_BIT_SELF_TRADE } from '../../shared/wire/entry.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import { FIRST_VERSION } from '../../shared/wire/version.ts';
import type { Accounts } from '../account/accounts.ts';
import type { AccountPrincipal } from '../base/principal.ts';
import type { CommandKey } from '../shardlink/client.ts';
import type { PlacementWriter } from '../shardlink/placementWriter.ts';
import type { Order } from './order.ts';
import { WalletTexts } from './walletTexts.ts';

/** The words of a PLACE that records of clients do not have. */
const YOUNG = youngOf(COMMAND.PLACE, FIRST_VERSION);
assert(
  YOUNG.every(({ at }) => at >= ENTRY.PLACE.WORDS),
  'ENTRY-1: younger fields of a PLACE stand behind those that clients send',
);

/**
 * Fields of a placement besides its body. If this is given, even empty, the record is extended, as a REPLACE needs it.
 */
export type PlacementExtras = {
  /** Unix milliseconds after which the order must not be placed. */
  readonly deadlineMs?: number;
  /** Index of the order group. */
  readonly group?: number;
  /** True if another open or pending order of the account has the body's client order id. */
  readonly isClientIdTaken?: boolean;
  /** For a replacement: the required remainder of the old order (RULES.md 7.15). */
  readonly expectedRemaining?: number | undefined;
  /** The idempotency key with its fingerprint, and the route (EXT_ROUTE) and row of a batch on which it was used. */
  readonly key?: (CommandKey & { readonly route: number; readonly row: number }) | undefined;
};

/** The account that places, and its default self-trade prevention, which an order may override. */
export type Placer = Pick<AccountPrincipal, 'accountIndex' | 'selfTradePrevention'>;

export class OrderEncoder implements PlacementWriter {
  /** Of the command that is written next. */
  lengthBytes: number = COMMAND.PLACE.BYTES;
  readonly #accounts: Pick<Accounts, 'grantOf'>;
  readonly #wallets = new WalletTexts();
  #order: Order | null = null;
  #extras: PlacementExtras | undefined;
  #kind = 0;
  #grant = 0;

  constructor(accounts: Pick<Accounts, 'grantOf'>) {
    this.#accounts = accounts;
  }

  /**
   * Sets the order that is written next.
   * @param moreBits facts about the order that the sender has found out (PLACE_BIT_*)
   */
  ready(order: Order, placer: Placer, extras?: PlacementExtras, moreBits = 0): this {
    order.requireLast();
    const { kind, at, records } = order;
    const isExtended = order.isExtended || order.clientId !== undefined || extras !== undefined;
    this.#order = order;
    this.#extras = extras;
    this.lengthBytes = isExtended ? EXTENDED_PLACE.BYTES : COMMAND.PLACE.BYTES;
    this.#grant = this.#wallets.grantOf(this.#accounts, placer.accountIndex, records.words, records.bytes, at);
    let bits = kindBits(kind) & CLIENT_BITS;
    if ((bits & PLACE_BIT_SELF_TRADE) === 0) bits |= placer.selfTradePrevention << PLACE_SELF_TRADE_SHIFT;
    bits = (bits & ~PLACE_BIT_SELF_TRADE) | moreBits;
    if (this.#grant !== UNKNOWN_GRANT) bits |= PLACE_BIT_AUTHORIZED;
    if (isExtended) bits |= PLACE_BIT_EXTENDED;
    if (extras?.isClientIdTaken === true) bits |= PLACE_BIT_CLIENT_ID_TAKEN;
    this.#kind = (kind & 0xff_ffff) | (bits << 24);
    return this;
  }

  /** Writes all behind the header of the command at `word`, whose words are zero, but for the hash. */
  writeAt(words: Uint32Array, word: number): void {
    const { records, at, clientId } = this.#order!;
    const from = records.words;
    for (let index = ANY_COMMAND.WORDS; index < ENTRY.PLACE.WORDS; index++) words[word + index] = from[at + index];
    for (const { at: young, absent } of YOUNG) words[word + young] = absent;
    words[word + COMMAND.PLACE.kind] = this.#kind;
    words[word + COMMAND.PLACE.grant] = this.#grant;
    if (this.lengthBytes === EXTENDED_PLACE.BYTES) this.#extend(words, word, clientId, this.#extras ?? {});
  }

  #extend(words: Uint32Array, word: number, clientId: string | undefined, extras: PlacementExtras): void {
    writeSafe(words, word + EXTENDED_PLACE.deadlineMs, extras.deadlineMs ?? 0);
    words[word + EXTENDED_PLACE.group] = extras.group ?? NO_GROUP;
    if (extras.key !== undefined) {
      words.set(extras.key.key, word + EXTENDED_PLACE.key);
      words.set(extras.key.fingerprint, word + EXTENDED_PLACE.fingerprint);
      words[word + EXTENDED_PLACE.keyUse] = extras.key.route | (extras.key.row << 8);
    }
    words[word + EXTENDED_PLACE.expectedLow] = (extras.expectedRemaining ?? 0) % 2 ** 32;
    if (clientId !== undefined) writeClientId(words, word, clientId);
  }
}
