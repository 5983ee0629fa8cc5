/**
 * The last row that a standby has seen in the log, and whether the log still has it: a failover of the database to a
 * server that was not in the quorum takes rows away which were read before, and another leader puts others in their
 * place.
 *
 * Invariant:
 *   LASTROW-1  A member follows, and takes the lead in, only a log that has the last row which this member has seen
 *              there: its streams may count as held up to that row.
 */
import { NotAMemberError, type ReplicatedLog, type RowName } from './log.ts';

export class LastRow {
  #row: RowName | null = null;
  readonly #log: Pick<ReplicatedLog, 'nameAt' | 'facts'>;

  constructor(log: Pick<ReplicatedLog, 'nameAt' | 'facts'>) {
    this.#log = log;
  }

  see(row: RowName): void {
    // A stream of which the log has no row yet ends at none.
    if (row.position > 0 && row.position >= (this.#row?.position ?? 0)) this.#row = row;
  }

  /** True for a next row that only `requireThere` can show to be one of the same log. */
  isOfAnotherLead({ epoch, lead }: RowName): boolean {
    return epoch !== this.#row?.epoch || lead !== this.#row.lead;
  }

  /** LASTROW-1. */
  async requireThere(): Promise<void> {
    const last = this.#row;
    if (last === null) return;
    const found = await this.#log.nameAt(last.position);
    if (found !== null && isSame(found, last)) return;
    // A row that is not the last one of its stream may have been trimmed meanwhile.
    if (found === null && (await this.#log.facts()).end > last.position) return;
    throw new NotAMemberError(`the log has lost the row at position ${last.position}, which this member has applied`);
  }
}

/** The same row, at the same position. */
export function isSame(a: RowName, b: RowName): boolean {
  return a.epoch === b.epoch && a.lead === b.lead && a.stream === b.stream && a.sequence === b.sequence;
}
