/** The marks of the commands in documents, and the comparison of an output with the one in the document. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { blocksOf } from '../../guides/blocks.ts';
import { guides } from '../../guides/guides.ts';
import { differenceIn } from '../../guides/printed.ts';
import { ROOT } from '../../guides/project.ts';

const fenced = (info: string, ...lines: string[]) => ['# A guide', '', `\`\`\`${info}`, ...lines, '```', ''].join('\n');

describe('the commands of documents', () => {
  test('are all marked, each with a reason if it is not run', () => {
    const paths = guides();
    assert.ok(paths.includes('README.md'));
    const wrong = paths.flatMap((path) => {
      try {
        blocksOf(readFileSync(join(ROOT, path), 'utf8'));
        return [];
      } catch (error) {
        return [`${path}:${(error as Error).message}`];
      }
    });
    assert.deepEqual(wrong, []);
  });

  test('are read with their line, their language and their marks', () => {
    const text = 'npm start';
    const [block] = blocksOf(fenced('sh run server stopped exit=2 needs=jq,python3:requests', text));
    const flags = { run: true, root: false, server: true, stopped: true, output: false };
    const marks = { ...flags, member: null, on: null, file: null, exit: 2, norun: null };
    assert.deepEqual(block, {
      line: 3,
      section: 'A guide',
      language: 'sh',
      text,
      marks: { ...marks, needs: ['jq', 'python3:requests'] },
    });
  });

  test('may be out of sight in a comment', () => {
    const [block] = blocksOf('A guide\n<!-- run stopped\nrm -r data/live\n-->\n');
    assert.deepEqual([block!.line, block!.language, block!.text], [2, 'sh', 'rm -r data/live']);
    assert.ok(block!.marks.run && block!.marks.stopped);
  });

  test('of root on a machine are run there alone, or also beside the others', () => {
    const marksOf = (text: string): object => blocksOf(text)[0]!.marks;
    assert.partialDeepStrictEqual(marksOf(fenced('sh root', 'true')), { run: false, root: true });
    assert.partialDeepStrictEqual(marksOf(fenced('sh run root', 'true')), { run: true, root: true });
    assert.partialDeepStrictEqual(marksOf('A guide\n<!-- root\ntrue\n-->\n'), { run: false, root: true });
    assert.throws(() => blocksOf(fenced('sh root norun="both"', 'true')), /run and norun exclude/);
  });

  test('without a mark are refused with their line', () => {
    assert.throws(() => blocksOf(fenced('sh', 'npm start')), /^MarkError: 3: a block of commands is marked/);
  });

  const wrong: [string, RegExp][] = [
    ['sh run fast', /3: unknown mark fast/],
    ['sh norun', /3: norun has a value/],
    ['sh run=yes', /3: run has no value/],
    ['sh run norun="both"', /3: run and norun exclude/],
    ['text run', /3: no program of this language/],
    ['sh run "', /3: not a mark/],
  ];
  for (const [info, message] of wrong) {
    test(`marked as "${info}" are refused`, () => assert.throws(() => blocksOf(fenced(info, 'true')), message));
  }

  test('that are neither programs nor marked are illustrations', () => {
    assert.deepEqual(blocksOf(fenced('', 'a drawing') + fenced('json', '{}')), []);
  });
});

describe('the output that a document shows', () => {
  const cases: [string, string, string | null][] = [
    ['one\ntwo', 'one\ntwo', null],
    ['one\ntwo\n\n', '\none\ntwo', null],
    ['one\ntwo', 'one', 'one'],
    ['one', 'one\ntwo', 'two'],
    ['one\ntwo\nthree', 'one\n…', null],
    ['one\ntwo\nthree', 'one\n…\nthree', null],
    ['one\ntwo\nthree', 'one\n…\nfour', 'four'],
    ['took 12 ms', 'took … ms', null],
    ['took 12 ms', 'took 12.ms', 'took 12.ms'],
    ['id 01a200e5-c29c-7000-8100-000000000013', 'id bbbcd38b-43e0-4326-bee1-1aea97e5fe10', null],
    ['hash 0x42762d5e2293d809', 'hash 0xaaaaaaaaaaaaaaaa', null],
    ['at 2026-11-22T15:00:00.123Z', 'at 2026-01-01T00:00:00.000Z', null],
    ['on 2026-11-22', 'on tomorrow', 'on tomorrow'],
  ];
  for (const [printed, shown, expected] of cases) {
    test(`${JSON.stringify(shown)} ${expected === null ? 'is' : 'is not'} ${JSON.stringify(printed)}`, () => {
      assert.equal(differenceIn(printed, shown), expected);
    });
  }
});
