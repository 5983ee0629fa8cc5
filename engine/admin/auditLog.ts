/**
 * `admin audit-log`: writes the audit log and checks its chain, from the file alone (RULES.md 9.14). Of an exchange
 * that is stopped the end of the log is compared with what control.db knows, so that a log that was cut is found too.
 */
import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { linesOf } from '../../shared/base/lines.ts';
import {
  type AuditHead,
  type AuditKey,
  type AuditLine,
  deriveAuditKey,
  follows,
  NO_RECORDS,
  readLine,
} from '../../shared/crypto/auditChain.ts';
import type { DatabaseFinding } from './databases.ts';
import { AdminError, openMasterKey, RunningError, withDirectoryToRead } from './directory.ts';

type AuditLogReport = { readonly lines: readonly string[]; readonly isSound: boolean };

/** The end of the log that control.db knows; `running` while a server holds the file. */
type KnownEnd = AuditHead | null | 'running';

const NEXT_STEP =
  '`npm run admin -- audit-log` names every record; put a backup of it in its place, or keep it under another name: ' +
  'the next start begins one behind the last record that control.db knows';

/** The first problem usually causes others. */
const SHOWN_PROBLEMS = 20;

export class AuditLogCheck {
  readonly #path: string;
  readonly #key: AuditKey | null;
  readonly #known: KnownEnd;
  readonly #problems: string[] = [];
  #head = NO_RECORDS;
  #records = 0;
  #notedCuts = 0;
  /** Records since the last one whose MAC is valid. */
  #unauthenticated = 0;
  #hasKnownEnd = false;
  #isRead = false;

  static async of(directory: string): Promise<AuditLogCheck> {
    const path = join(directory, 'audit.log');
    if (!existsSync(path)) throw new AdminError(`${path} does not exist`);
    return new AuditLogCheck(path, openKey(directory), await knownEnd(directory));
  }

  private constructor(path: string, key: AuditKey | null, known: KnownEnd) {
    this.#path = path;
    this.#key = key;
    this.#known = known;
  }

  /** Every line from record `from` on; all lines are checked. */
  async *lines(from: number): AsyncGenerator<string> {
    let number = 0;
    for await (const text of linesOf(createReadStream(this.#path))) {
      number++;
      // A record that is being written, or that a crash cut off: the exchange sent no answer based on it.
      if (text.startsWith('{') && !text.endsWith('}')) continue;
      // Space that a running exchange has reserved for its next records.
      if (text.trim() === '') continue;
      const sequence = this.#check(number, text);
      if (sequence >= from) yield `${text}\n`;
    }
    this.#isRead = true;
  }

  /** After `report`. Records at the end that were written before the master key was rotated are whole. */
  get isWholeSinceCuts(): boolean {
    return this.#problems.length === this.#notedCuts + (this.#isOfFormerKey ? 1 : 0);
  }

  get #isOfFormerKey(): boolean {
    return this.#key !== null && this.#unauthenticated > 0;
  }

  report(): AuditLogReport {
    if (!this.#isRead) return { lines: ['the rest was not read: the chain was not checked'], isSound: false };
    this.#compareEnd();
    if (this.#isOfFormerKey) {
      this.#problems.push(`the last ${this.#unauthenticated} records were not written with this master key`);
    }
    const problems = this.#problems.slice(0, SHOWN_PROBLEMS);
    const more = this.#problems.length - problems.length;
    const lines = [
      ...problems,
      ...(more > 0 ? [`and ${more} more problems`] : []),
      ...this.#notes(),
      `${this.#records} records, the last is ${this.#head.sequence} with the hash ${this.#head.hash}`,
      this.#problems.length === 0 ? 'the chain is whole' : 'the log was changed, cut or damaged',
    ];
    return { lines, isSound: this.#problems.length === 0 };
  }

  /** @returns the number of the record, or Infinity for a line that is no record, which is always shown */
  #check(number: number, text: string): number {
    const line = readLine(text, this.#key);
    if (line === null) {
      this.#problems.push(`line ${number} is not as it was written`);
      return Number.POSITIVE_INFINITY;
    }
    if (!follows(line, this.#head)) {
      this.#problems.push(breakBefore(line, this.#head, number));
      if (line.event === 'gap') this.#notedCuts++;
    }
    // A valid MAC covers the hash of the previous record, and so all earlier ones.
    this.#unauthenticated = line.mac === 'valid' ? 0 : this.#unauthenticated + 1;
    if (this.#known !== null && this.#known !== 'running' && line.hash === this.#known.hash) this.#hasKnownEnd = true;
    this.#records++;
    this.#head = { sequence: line.sequence, hash: line.hash };
    return line.sequence;
  }

  #compareEnd(): void {
    if (this.#known === null || this.#known === 'running' || this.#hasKnownEnd) return;
    this.#problems.push(
      `record ${this.#known.sequence}, which control.db knows, is missing: the log was cut or replaced`,
    );
  }

  #notes(): string[] {
    const notes: string[] = [];
    if (this.#known === 'running') notes.push('the exchange is running: the end was not compared with control.db');
    if (this.#key === null) notes.push('no master key is at hand: only the hashes were checked');
    return notes;
  }
}

/** For `journal verify`: null where none was ever written. A damaged log keeps no exchange from starting. */
export async function checkAuditLog(directory: string): Promise<DatabaseFinding | null> {
  const name = 'audit.log';
  if (!existsSync(join(directory, name))) {
    if ((await knownEnd(directory)) === null) return null;
    return { name, state: 'missing', problem: `${join(directory, name)}: it is missing: ${NEXT_STEP}` };
  }
  const check = await AuditLogCheck.of(directory);
  for await (const _ of check.lines(Number.POSITIVE_INFINITY));
  const { lines } = check.report();
  // A cut that a start has found and noted stays in the log for ever.
  const isSound = check.isWholeSinceCuts;
  const problem = isSound ? null : `${join(directory, name)}: ${lines[0]}: ${NEXT_STEP}`;
  return { name, state: isSound ? 'ok' : 'damaged', problem };
}

function breakBefore({ sequence, event }: AuditLine, head: AuditHead, number: number): string {
  const [first, last] = [head.sequence + 1, sequence - 1];
  if (sequence === first) return `line ${number}: record ${sequence} does not follow the one before, which was changed`;
  if (last < first) return `line ${number}: record ${sequence} stands after record ${head.sequence}`;
  const why = event === 'gap' ? ': the exchange found the log cut when it started' : '';
  return `line ${number}: records ${first} to ${last} are missing${why}`;
}

/** Null without a master key: the hashes can be checked all the same. */
function openKey(directory: string): AuditKey | null {
  try {
    return deriveAuditKey(openMasterKey(directory));
  } catch (error) {
    if (error instanceof AdminError) return null;
    throw error;
  }
}

async function knownEnd(directory: string): Promise<KnownEnd> {
  try {
    return await withDirectoryToRead(directory, (control) => {
      const text = control?.prepare<[], string>(`SELECT value FROM platform WHERE key = 'audit_head'`).pluck().get();
      return text === undefined ? null : JSON.parse(text);
    });
  } catch (error) {
    if (error instanceof RunningError) return 'running';
    throw error;
  }
}
