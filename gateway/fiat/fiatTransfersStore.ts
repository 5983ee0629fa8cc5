/**
 * The parts of an off-ramp's transfer, in control.db: intents with their signatures, the relayer's envelopes,
 * and which transaction pays for which session. Statements run inside the change of their session
 * (FiatSessions.change and write).
 * Owner: the gateway thread.
 *
 * Invariants:
 *   FIATTRANSFERS-1  A session has at most one intent, and an intent at most one signature; neither ever changes.
 *   FIATTRANSFERS-2  Only the state of an envelope changes. Live envelopes with the same sender and account nonce
 *                    belong to one session.
 *   FIATTRANSFERS-3  A transaction pays for one session.
 */
import type { EnvelopeStore, StoredEnvelope } from '../../shared/chain/relayer.ts';
import type { TransferAuthorization } from '../../shared/crypto/eip3009.ts';
import type { ControlDatabase } from '../base/database.ts';

export type Intent = TransferAuthorization & {
  readonly sessionId: string;
  readonly intentId: string;
  readonly digest: string;
  /** Null until the wallet has signed. */
  readonly signature: string | null;
  readonly createdMs: number;
  readonly signedMs: number | null;
};

const INTENT = `session_id AS sessionId, intent_id AS intentId, from_address AS "from", to_address AS "to",
  value_micro AS valueMicro, valid_after_sec AS validAfterSec, valid_before_sec AS validBeforeSec, nonce, digest,
  signature, created_ms AS createdMs, signed_ms AS signedMs`;
const ENVELOPE = `sequence, session_id AS sessionId, sender, account_nonce AS accountNonce, fee, unsigned, signed,
  tx_hash AS txHash, state, created_ms AS createdMs`;

export class FiatTransfers implements EnvelopeStore {
  readonly #statements;

  constructor(database: ControlDatabase) {
    this.#statements = prepare(database);
  }

  intentOf(sessionId: string): Intent | undefined {
    return this.#statements.intentOf.get(sessionId);
  }

  addIntent(intent: Intent): void {
    this.#statements.addIntent.run(intent);
  }

  /** The session whose intent has this nonce of the wallet. */
  authorizedBy(from: string, nonce: string | null): string | undefined {
    return nonce === null ? undefined : this.#statements.authorizedBy.get(nonce, from);
  }

  /** FIATTRANSFERS-1 */
  sign(sessionId: string, signature: string, nowMs: number): void {
    this.#statements.sign.run(signature, nowMs, sessionId);
  }

  envelopesOf(sessionId: string): StoredEnvelope[] {
    return this.#statements.envelopesOf.all(sessionId);
  }

  addEnvelope(envelope: Omit<StoredEnvelope, 'sequence'>): void {
    this.#statements.addEnvelope.run(envelope);
  }

  setEnvelope(txHash: string, state: StoredEnvelope['state']): void {
    this.#statements.setEnvelope.run(state, txHash);
  }

  killNonce(sender: string, accountNonce: number): void {
    this.#statements.killNonce.run(sender, accountNonce);
  }

  withNonce(sender: string, accountNonce: number): StoredEnvelope[] {
    return this.#statements.withNonce.all(sender, accountNonce);
  }

  nextNonce(sender: string): number {
    return this.#statements.nextNonce.get(sender) ?? 0;
  }

  unsent(sender: string): StoredEnvelope | undefined {
    return this.#statements.unsent.get(sender);
  }

  /** The session that a transaction pays for. */
  claimedBy(txHash: string): string | undefined {
    return this.#statements.claimedBy.get(txHash);
  }

  /** FIATTRANSFERS-3. A repeat for the same session changes nothing. */
  claim(txHash: string, sessionId: string): void {
    this.#statements.claim.run(txHash, sessionId);
  }

  claimsOf(sessionId: string): string[] {
    return this.#statements.claimsOf.all(sessionId);
  }
}

function prepare(database: ControlDatabase) {
  return {
    intentOf: database.prepare<[string], Intent>(`SELECT ${INTENT} FROM fiat_intents WHERE session_id = ?`),
    addIntent: database.prepare<Intent>(
      `INSERT INTO fiat_intents VALUES ($sessionId, $intentId, $from, $to, $valueMicro, $validAfterSec, $validBeforeSec,
         $nonce, $digest, $signature, $createdMs, $signedMs)`,
    ),
    sign: database.prepare<[string, number, string]>(
      'UPDATE fiat_intents SET signature = ?, signed_ms = ? WHERE session_id = ? AND signature IS NULL',
    ),
    envelopesOf: database.prepare<[string], StoredEnvelope>(
      `SELECT ${ENVELOPE} FROM fiat_envelopes WHERE session_id = ? ORDER BY sequence`,
    ),
    addEnvelope: database.prepare<Omit<StoredEnvelope, 'sequence'>>(
      `INSERT INTO fiat_envelopes (session_id, sender, account_nonce, fee, unsigned, signed, tx_hash, state, created_ms)
       VALUES ($sessionId, $sender, $accountNonce, $fee, $unsigned, $signed, $txHash, $state, $createdMs)`,
    ),
    setEnvelope: database.prepare<[string, string]>('UPDATE fiat_envelopes SET state = ? WHERE tx_hash = ?'),
    killNonce: database.prepare<[string, number]>(
      `UPDATE fiat_envelopes SET state = 'dead' WHERE sender = ? AND account_nonce = ?`,
    ),
    withNonce: database.prepare<[string, number], StoredEnvelope>(
      `SELECT ${ENVELOPE} FROM fiat_envelopes WHERE sender = ? AND account_nonce = ? ORDER BY sequence`,
    ),
    nextNonce: database
      .prepare<[string], number>(
        'SELECT account_nonce + 1 FROM fiat_envelopes WHERE sender = ? ORDER BY account_nonce DESC LIMIT 1',
      )
      .pluck(),
    unsent: database.prepare<[string], StoredEnvelope>(
      `SELECT ${ENVELOPE} FROM fiat_envelopes
       WHERE state = 'built' AND sender = ? ORDER BY account_nonce, sequence LIMIT 1`,
    ),
    authorizedBy: database
      .prepare<[string, string], string>('SELECT session_id FROM fiat_intents WHERE nonce = ? AND from_address = ?')
      .pluck(),
    claimedBy: database.prepare<[string], string>('SELECT session_id FROM fiat_claims WHERE tx_hash = ?').pluck(),
    claim: database.prepare<[string, string]>(
      'INSERT INTO fiat_claims (tx_hash, session_id) VALUES (?, ?) ON CONFLICT (tx_hash) DO NOTHING',
    ),
    claimsOf: database.prepare<[string], string>('SELECT tx_hash FROM fiat_claims WHERE session_id = ?').pluck(),
  };
}
