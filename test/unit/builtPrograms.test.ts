/** The programs that a run of the suite builds for its servers (support/builtPrograms.ts). */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { builtProgramsOf, PROGRAMS, SETTING } from '../support/builtPrograms.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** A source names a program or a thread so where it starts it. */
const STARTED = /(?:new URL\(|entry: )'(\.{1,2}\/[^']+\.ts)'/g;
/** Only a demo starts them. */
const NOT_BUILT = ['gateway/programs/ramp/main.ts', 'shared/client/examples/demoFlow.ts'];

test('every thread of a server is built: none loads its sources file by file', () => {
  const sources = globSync('{engine,gateway}/**/*.ts', { cwd: ROOT, exclude: ['gateway/{programs,web/browser}/**'] });
  const started = sources.flatMap((source) => {
    const text = readFileSync(join(ROOT, source), 'utf8');
    return [...text.matchAll(STARTED)].map(([, path]) => join(dirname(source), path!));
  });
  assert.ok(started.includes('engine/shard/main.ts') && started.includes('engine/projector/main.ts'));
  assert.deepEqual(
    started.filter((program) => !NOT_BUILT.includes(program) && !PROGRAMS.includes(program)),
    [],
  );
});

test('a server of another project, such as a copy with a planted fault, runs the sources of that one', (t) => {
  const before = process.env[SETTING];
  t.after(() => {
    if (before === undefined) delete process.env[SETTING];
    else process.env[SETTING] = before;
  });
  const preloaded = `${pathToFileURL(ROOT).href}test/support/builtSources.mjs?in=%2Ftmp%2Fbuilt`;
  process.env[SETTING] = preloaded;
  assert.equal(builtProgramsOf(ROOT), preloaded);
  assert.equal(builtProgramsOf(`${ROOT}copy`), null);
  delete process.env[SETTING];
  assert.equal(builtProgramsOf(ROOT), null);
});
