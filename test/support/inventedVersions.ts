/**
 * Two versions of the project that come after this one, each in a folder of its own: the first adds a field to PLACE
 * that older orders, and those of svc.bin.1, have as 7, and raises the lines of the audit log; the second changes a
 * rule. All other layouts stay.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FORMATS } from '../../shared/base/formats.ts';
import { ProjectCopy } from './projectCopy.ts';

const NEXT_ENGINE = FORMATS.engine.newest + 1;
export const LAST_ENGINE = NEXT_ENGINE + 1;
export const NEXT_AUDIT = FORMATS.audit.newest + 1;
/** The field in an order of a version without it: the shard requires it while its rules are older. */
const ABSENT = 7;
const GIVEN = 8;

/** The version that adds the field. */
export const nextRecords = (): ProjectCopy => withField();

/** The version after it, whose rule for cancels is another one. */
export function nextRules(): ProjectCopy {
  const copy = withField();
  raise(copy, NEXT_ENGINE, LAST_ENGINE);
  copy.change(
    'engine/core/rules.ts',
    '} as const satisfies Readonly<Record<string, Change>>;',
    `  otherReason: { since: ${LAST_ENGINE}, changed: 'the reason of a cancel', rule: '5.1', mark: null },\n` +
      '} as const satisfies Readonly<Record<string, Change>>;',
  );
  copy.change(
    'engine/core/apply.ts',
    'closing.close(this.#marketOf(slot), slot, flags & 0xff);',
    `closing.close(this.#marketOf(slot), slot, this.#state.rules >= ${LAST_ENGINE} ? 2 : flags & 0xff);`,
  );
  return copy;
}

/** The versions of the lines of an audit log, each once. */
export function auditVersionsIn(directory: string): number[] {
  const lines = readFileSync(join(directory, 'audit.log'), 'utf8').split('\n').slice(0, -1);
  return [...new Set(lines.map((line) => JSON.parse(line).version ?? 1))].sort();
}

function withField(): ProjectCopy {
  const copy = new ProjectCopy();
  raise(copy, FORMATS.engine.newest, NEXT_ENGINE);
  raiseAuditLog(copy);
  copy.change(
    'shared/wire/commands.ts',
    "  minTakerNet: safe('0 for none'),\n",
    "  minTakerNet: safe('0 for none'),\n" +
      `  urgency: since(${NEXT_ENGINE}, u32(), ${ABSENT}),\n  spare: since(${NEXT_ENGINE}, u32()),\n`,
  );
  // Its gateway gives a value to every order: a shard whose rules are older forgets it.
  copy.change(
    'gateway/trading/encodeOrder.ts',
    '    words[word + COMMAND.PLACE.grant] = this.#grant;\n',
    `    words[word + COMMAND.PLACE.grant] = this.#grant;\n    words[word + COMMAND.PLACE.urgency] = ${GIVEN};\n`,
  );
  copy.change(
    'engine/core/placing.ts',
    '    assert(words[word + PLACE.feeBps] === market.feeBps,',
    `    const isGiven = this.#state.rules >= ${NEXT_ENGINE} && words[word + PLACE.urgency] === ${GIVEN};\n` +
      `    const isKnown = isGiven || words[word + PLACE.urgency] === ${ABSENT};\n` +
      "    assert(isKnown, 'BOOK-2: an order without the field has its value of absence');\n" +
      '    assert(words[word + PLACE.feeBps] === market.feeBps,',
  );
  return copy;
}

function raiseAuditLog(copy: ProjectCopy): void {
  const { newest, oldest } = FORMATS.audit;
  copy.change(
    'shared/base/formats.ts',
    `audit: { newest: ${newest}, oldest: ${oldest} }`,
    `audit: { newest: ${NEXT_AUDIT}, oldest: ${oldest} }`,
  );
}

function raise(copy: ProjectCopy, from: number, to: number): void {
  copy.change(
    'shared/base/formats.ts',
    `engine: { newest: ${from}, oldest: ${FORMATS.engine.oldest} }`,
    `engine: { newest: ${to}, oldest: ${FORMATS.engine.oldest} }`,
  );
}
