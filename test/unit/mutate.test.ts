/** The mutation runner (npm run mutate): where it puts a slip, and which tests it asks. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Compiler } from '../mutate/compiler.ts';
import { AREAS, TestMap } from '../mutate/testsOf.ts';
import { temporaryDirectory } from '../support/directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCE = `
type Two = 2;
const log = { info: (_: string) => true };
async function sum(from: number, to: number): Promise<number> {
  if (from > to) return 0;
  let total = 0;
  for (let at = from; at < to; at++) total += at;
  log.info('summed up to 9');
  if (from > 5) log.info('much');
  await Promise.resolve();
  return from === to ? total : Math.pow(from, total);
}
const LIST = 'SELECT id FROM sums WHERE id > ? ORDER BY id';
`;

test('a mutant is a slip of one token or statement, and never in a type, a log or a message', (t) => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'tsconfig.json'), '{"compilerOptions": {"target": "ESNext", "types": []}}');
  writeFileSync(join(directory, 'sum.ts'), SOURCE);
  const compiler = new Compiler(directory);
  t.after(() => compiler.close());
  const found = compiler.placesIn('sum.ts').map(({ operator, start, end, replacement }) => {
    return `${operator}: ${SOURCE.slice(start, end).trim()} => ${replacement.trim()}`;
  });
  assert.deepEqual(found.sort(), [
    'arguments: from, total => total, from',
    'arithmetic: += => -=',
    'arithmetic: at++ => at--',
    'await: await Promise.resolve() => Promise.resolve()',
    'boolean: true => false',
    'comparison: < => <=',
    'comparison: > => >=',
    'condition: from === to => !(from === to)',
    'condition: from > to => !(from > to)',
    'equality: === => !==',
    'guard: if (from > to) return 0; => {}',
    'number: 0 => (0 + 1)',
    'number: 0 => (0 + 1)',
    'sql: > => >=',
    'sql: ORDER BY id => ORDER BY id DESC',
    'statement: await Promise.resolve(); => {}',
    'statement: total += at; => {}',
  ]);
  assert.equal(compiler.complaintAbout('sum.ts'), null);
  writeFileSync(join(directory, 'sum.ts'), SOURCE.replace('let total = 0', "let total = ''"));
  assert.match(compiler.complaintAbout('sum.ts') ?? '', /not assignable/);
});

test('the test with the path of a source is asked first, then those that import it, then those of its area', () => {
  const tests = new TestMap(ROOT);
  assert.deepEqual(tests.testsOf('gateway/shardlink/idempotencyStage.ts').slice(0, 1), [
    'test/unit/gateway/shardlink/idempotencyStage.test.ts',
  ]);
  assert.ok(
    tests
      .testsOf('gateway/trading/tradingTimeoutsStore.ts')
      .includes('test/unit/gateway/trading/tradingTimeoutsStore.test.ts'),
  );
  assert.ok(tests.testsOf('gateway/shardlink/idempotencyStage.ts').includes('test/fault/idempotency.test.ts'));
  assert.ok(tests.testsOf('engine/replication/giving.ts').includes('test/cluster/joinInterrupted.test.ts'));
  assert.ok(tests.testsOf('gateway/front/reads.ts').includes('test/unit/gateway/front/reads.test.ts'));
});

test('every area names tests that are there', () => {
  for (const [prefix, paths] of AREAS) {
    assert.ok(existsSync(join(ROOT, prefix)), prefix);
    for (const path of paths) assert.ok(existsSync(join(ROOT, path)), path);
  }
});
