/** The words of the project (shared/GLOSSARY.md), as far as a machine can check them. */
import { test } from 'node:test';
import { assertClean, commentsOf, sources } from './sources.ts';

const ownCode = sources.filter(({ path }) => !path.startsWith('test/'));

test('a comment is a sentence with a subject, or a question', () => {
  const fragment = /^(?:@returns )?(?:What|Who|Whose|How|Whether)\b(?:[^.:?]|[.:]\b)*(?:[.:](?!\w)|$)/;
  assertClean(sources, (source) =>
    commentsOf(source).flatMap(({ line, text }) => (fragment.test(text) ? [`line ${line}: ${text}`] : [])),
  );
});

test('words that the glossary replaces are used neither in comments nor as names', () => {
  const replaced = /\b(?:un)?told\b|[a-z]Told\b|\btells?\b|\bhea(?:rs?|rd)\b|\b(?:no|some)body\b|\bwhoever\b/i;
  const isComment = /^\s*(?:\/?\*|\/\/)/;
  assertClean(ownCode, ({ lines }) =>
    lines.flatMap((line, index) => {
      const words = isComment.test(line) ? line : line.replace(/'[^']*'/g, '');
      return replaced.test(words) ? [`line ${index + 1}: ${line.trim()}`] : [];
    }),
  );
});
