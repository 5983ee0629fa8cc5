/**
 * Remembers the last row that a standby has seen in the log, and checks that the log still has it. A failover of the
 * database to a server outside the quorum removes rows that were already read, and another leader then writes different
 * rows in their place.
 *
 * Invariant:
 *   LASTROW-1  A member follows or leads only a log that still has the last row which the member saw there. So the
 *              streams count as held up to that row.
 */
import { NotAMemberError, type ReplicatedLog, type RowName } from './log.ts';

export class LastRow {
  #row: RowName | null = null;
  readonly #log: Pick<ReplicatedLog, 'nameAt' | 'facts'>;

  constructor(log: Pick<ReplicatedLog, 'nameAt' | 'facts'>) {
    this.#log = log;
  }

  see(row: RowName): void {
    // A stream without rows in the log ends at position 0.
    if (row.position > 0 && row.position >= (this.#row?.position ?? 0)) this.#row = row;
  }

  /** True if only `requireThere` can show that the next row is of the same log. */
  isOfAnotherLead({ epoch, lead }: RowName): boolean {
    return epoch !== this.#row?.epoch || lead !== this.#row.lead;
  }

  /** LASTROW-1. */
  async requireThere(): Promise<void> {
    const last = this.#row;
    if (last === null) return;
    const found = await this.#log.nameAt(last.position);
    if (found !== null && isSame(found, last)) return;
    // A row that is not the last of its stream may have been trimmed meanwhile.
    if (found === null && (await this.#log.facts()).end > last.position) return;
    throw new NotAMemberError(`the log has lost the row at position ${last.position}, which this member has applied`);
  }
}

/** The same row, at the same position. */
export function isSame(a: RowName, b: RowName): boolean {
  return a.epoch === b.epoch && a.lead === b.lead && a.stream === b.stream && a.sequence === b.sequence;
}
