/** Envelopes that end with their process: a relayer that has lost them sends its transfers anew, and the token once. */
import type { EnvelopeStore, StoredEnvelope } from './relayer.ts';

export class EnvelopesInMemory implements EnvelopeStore {
  rows: readonly StoredEnvelope[] = [];
  #next = 0;
  #sequence = 0;

  envelopesOf(sessionId: string): StoredEnvelope[] {
    return this.rows.filter((row) => row.sessionId === sessionId);
  }

  addEnvelope(envelope: Omit<StoredEnvelope, 'sequence'>): void {
    this.rows = [...this.rows, { ...envelope, sequence: this.#sequence++ }];
    this.#next = Math.max(this.#next, envelope.accountNonce + 1);
  }

  setEnvelope(txHash: string, state: StoredEnvelope['state']): void {
    this.rows = this.rows.map((row) => (row.txHash === txHash ? { ...row, state } : row));
  }

  killNonce(_sender: string, accountNonce: number): void {
    this.rows = this.rows.map((row) => (row.accountNonce === accountNonce ? { ...row, state: 'dead' } : row));
  }

  withNonce(_sender: string, accountNonce: number): StoredEnvelope[] {
    return this.rows.filter((row) => row.accountNonce === accountNonce);
  }

  nextNonce(): number {
    return this.#next;
  }

  unsent(): StoredEnvelope | undefined {
    return this.rows.find(({ state }) => state === 'built');
  }

  /** Its account nonces stay used up: the relayer finds one that no block has. */
  forget(sessionId: string): void {
    this.rows = this.rows.filter((row) => row.sessionId !== sessionId);
  }
}
