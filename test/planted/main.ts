/**
 * Tests that cannot fail prove nothing: this puts one fault after the other (faults.ts) into a copy of the project,
 * runs the tests that should notice it, and reports whether they did and their messages (npm run planted). Ends with 1
 * unless the tests pass without a fault and every fault was caught. A test that has to be ended, because it takes too
 * long or too much memory, has caught nothing, because its message does not say what is wrong; nor has a test that
 * fails without a message. A fault in the sources of the verification kernel (.as) or of the contracts (.sol) is
 * compiled. With arguments, only the faults with one of these texts in their name or their file (npm run planted --
 * snapshot journal).
 */
import { type Failure, ProjectCopy } from '../support/projectCopy.ts';
import type { Fault } from './faults/fault.ts';
import { FAULTS } from './faults.ts';

const TEST_LIMIT_MS = 120_000;
/** A test waits this long for an event that a fault prevents, and then fails with a message (eventually.ts). */
const EVENTUALLY = { EVENTUALLY_MS: '20000' };

const CAUGHT = 'caught    ';

const wanted = process.argv.slice(2);
const chosen = FAULTS.filter(({ name, file }) => {
  return wanted.length === 0 || wanted.some((text) => name.includes(text) || file.includes(text));
});
const copy = new ProjectCopy();
process.exitCode = (await plantAll()) ? 0 : 1;

async function plantAll(): Promise<boolean> {
  const broken: string[] = [];
  for (const path of new Set(chosen.map(({ caughtBy }) => caughtBy))) {
    if ((await copy.failureOf(path, TEST_LIMIT_MS, EVENTUALLY)) !== null) broken.push(path);
  }
  if (broken.length > 0) {
    console.log(`fails without any fault, so it shows nothing: ${broken.join(', ')}`);
    return false;
  }
  let caught = 0;
  for (const fault of chosen) {
    const startedMs = performance.now();
    const failure = await failureWith(fault);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(5);
    const verdict = verdictOn(failure);
    if (verdict === CAUGHT) caught++;
    console.log(`${verdict} ${seconds} s  ${fault.name.padEnd(66)} ${fault.caughtBy}`);
    if (failure !== null) console.log(`${' '.repeat(20)}${failure.message}`);
  }
  console.log(`${caught} of ${chosen.length} caught`);
  return caught === chosen.length && chosen.length > 0;
}

function verdictOn(failure: Failure | null): string {
  if (failure === null) return 'NOT CAUGHT';
  if (failure.isNoProgram) return 'NO PROGRAM';
  if (failure.hasNoEnd) return 'NO END    ';
  return failure.isWordless ? 'NO WORDS  ' : CAUGHT;
}

/** Null if the test passes. */
async function failureWith({ name, file, search, replace, caughtBy }: Fault): Promise<Failure | null> {
  const parts = copy.read(file).split(search);
  if (parts.length !== 2) throw new Error(`'${name}': ${file} has ${parts.length - 1} places to put it, not one`);
  const run = () => copy.failureOf(caughtBy, TEST_LIMIT_MS, EVENTUALLY);
  return copy.with(file, parts.join(replace), () => copy.withCompiled(file, run));
}
