/**
 * A process that follows journals into read.db with few records per transaction, archives, and reports: a test kills
 * it at any of these moments, or between them. Arguments: the path of read.db, then the paths of the journals.
 */
import { writeSync } from 'node:fs';
import { readOpeningState } from '../../engine/projector/openingState.ts';
import { Projector } from '../../engine/projector/projector.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { TEST_KEY } from './journalKey.ts';
import { SMALL_PACE } from './projectionRig.ts';

const RECORDS = 3;
/** Steps of the archive after each. */
const STEPS = 5;

const [readDbPath, ...journals] = process.argv.slice(2) as [string, ...string[]];
const lasts = journals.map((argument) => Number(argument.split('=')[1]));
const journalPaths = journals.map((argument) => argument.split('=')[0]!);
const memory = Progress.create(journals.length);
const progress = new Progress(memory);
const options = { journalPaths, keys: journalPaths.map(() => TEST_KEY), readDbPath, progress: memory };
const projector = new Projector(options, null, undefined, readOpeningState);
for (let committed = RECORDS; ; committed += RECORDS) {
  for (const [shard, last] of lasts.entries()) progress.setCommitted(shard, Math.min(committed, last));
  while (projector.step(true));
  for (let step = 0; step < STEPS; step++) projector.archive(SMALL_PACE);
  writeSync(1, '.');
  if (lasts.every((last) => committed >= last)) break;
}
projector.close();
