/**
 * The table of the ends of refused members (engine/replication/memberHeads.ts), in memory, with statements that behave
 * like those of statements.ts on PostgreSQL.
 */
import type { Statement } from '../../engine/replication/command.ts';

type Head = {
  readonly holder: string;
  readonly log: string;
  readonly reason: string;
  readonly heads: string;
  readonly digest: string;
  readonly contains: string;
  readonly founder: string;
  readonly contained: string;
  readonly agoMs: number;
};

export class FakeHeads {
  readonly #rows: Map<string, Head>;

  constructor(rows: ReadonlyMap<string, Head> = new Map()) {
    this.#rows = new Map(rows);
  }

  /** A copy for a base backup. */
  copy(): FakeHeads {
    return new FakeHeads(this.#rows);
  }

  of(holder: string): Head | undefined {
    return this.#rows.get(holder);
  }

  async read<Row>({ name }: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    if (name === 'heads') return [...this.#rows.values()] as Row[];
    if (name === 'forgetHead') this.#rows.delete(values[1] as string);
    else if (name === 'reportHead') this.#report(values as readonly string[]);
    else if (name !== 'formerLeader') throw new Error(`no statement of the table of heads: ${name}`);
    return [];
  }

  /** A decision about other files of this member is forgotten. */
  #report([, holder, log, reason, heads, digest, contains]: readonly string[]): void {
    const before = this.#rows.get(holder!);
    const isSame = before?.digest === digest;
    const { founder, contained } = isSame ? before! : { founder: '', contained: '' };
    const of = { holder: holder!, log: log!, reason: reason!, heads: heads!, digest: digest!, contains: contains! };
    this.#rows.set(holder!, { ...of, founder, contained, agoMs: 0 });
  }

  /** The log with this id was founded. */
  decide(id: string, founder: string, contained: readonly string[]): void {
    for (const [holder, row] of this.#rows) {
      const decided = { founder: holder === founder ? id : '', contained: contained.includes(holder) ? id : '' };
      this.#rows.set(holder, { ...row, ...decided });
    }
  }
}
