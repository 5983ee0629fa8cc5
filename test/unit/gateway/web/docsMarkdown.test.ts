/** Documents as pages: links, omitted parts, and that no text is taken for HTML. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sectionsOf } from '../../../../gateway/web/docsContents.ts';
import { type Links, plainOf, rendered } from '../../../../gateway/web/docsMarkdown.ts';

const LINKS: Links = {
  pageOf: (path) => ({ 'data/docs/money.md': '/docs/money' })[path],
  operationOf: (name) => (name === 'POST /v1/orders' ? '/docs/api/orders#placeOrder' : undefined),
  ruleOf: (number) => (number === '8.1' ? '/docs/rules-08-streams#81-connecting' : undefined),
  errorOf: (code) => (code === 'INVALID_TICK' ? '/docs/errors#invalid_tick' : undefined),
};
const htmlOf = (text: string, path = 'data/docs/a.md'): string => rendered(text, path, LINKS).html;

test('a link to a document leads to its page; one to a source file is text', () => {
  assert.match(htmlOf('See [money](money.md#units).'), /See <a href="\/docs\/money#units">money<\/a>\./);
  assert.match(htmlOf('See [the client](../../shared/client/client.ts).'), /<p>See the client\.<\/p>/);
  assert.match(htmlOf('[here](#there) [out](https://example.org/)'), /href="#there".*href="https:\/\/example\.org\/"/);
});

test('routes, codes, rules and served documents become links, but not inside of a link', () => {
  assert.match(htmlOf('`POST /v1/orders`'), /<a href="\/docs\/api\/orders#placeOrder"><code>/);
  assert.match(htmlOf('`INVALID_TICK`'), /<a href="\/docs\/errors#invalid_tick"><code>INVALID_TICK<\/code><\/a>/);
  const place = '<a href="/docs/rules-08-streams#81-connecting">';
  assert.equal(htmlOf('as RULES.md 8.1 says'), `<p>as ${place}RULES.md 8.1</a> says</p>\n`);
  assert.equal(htmlOf('(8.1) RULES.md 8.2'), '<p>(8.1) RULES.md 8.2</p>\n');
  assert.match(htmlOf('`/openapi.json`'), /<a href="\/openapi\.json">/);
  assert.match(htmlOf('`POST /v1/other` `size`'), /<p><code>POST \/v1\/other<\/code> <code>size<\/code><\/p>/);
  assert.equal(htmlOf('[`INVALID_TICK`](#x)').match(/<a /g)!.length, 1);
  const rule = htmlOf('that of 8.1 (0.65; 8.1, RULES.md 8.1) at 8.1', 'shared/rules/01-numbers.md');
  assert.equal(rule, `<p>that of ${place}8.1</a> (0.65; ${place}8.1</a>, ${place}RULES.md 8.1</a>) at 8.1</p>\n`);
});

test('a heading has the address that GitHub gives it, and a second one of the same words another', () => {
  const { html, headings } = rendered('# A `b`: c\n\n## Same\n\n## Same\n', 'data/docs/a.md', LINKS);
  assert.deepEqual(
    headings.map(({ depth, text, anchor }) => [depth, text, anchor]),
    [
      [1, 'A b: c', 'a-b-c'],
      [2, 'Same', 'same'],
      [2, 'Same', 'same-1'],
    ],
  );
  assert.match(html, /<h1 id="a-b-c"><a href="#a-b-c">A <code>b<\/code>: c<\/a><\/h1>/);
});

test('comments and marks of commands are left out, and no text becomes HTML', () => {
  const text = 'A <b>c</b> & `<i>`\n\n<!-- run\nrm -r x\n-->\n\n```sh run needs=jq\necho "<x>"\n```\n';
  const html = htmlOf(text);
  assert.match(html, /<pre tabindex="0"><code>echo &quot;&lt;x&gt;&quot;<\/code><\/pre>/);
  assert.doesNotMatch(html, /<b>|<i>|<x>|rm -r|needs=/);
  const plain = plainOf(`${text}[m](money.md) [c](../x.ts)`, 'data/docs/a.md', LINKS);
  assert.doesNotMatch(plain, /rm -r|needs=/);
  assert.match(plain, /```sh\n/);
  assert.match(plain, /\[m\]\(\/docs\/money\.md\) c$/);
});

test('a table scrolls by itself, and its first row heads its columns', () => {
  const html = htmlOf('| a | b |\n|---|---|\n| `x` | **y** |\n');
  assert.match(html, /<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">a<\/th>/);
  assert.match(html, /<td><code>x<\/code><\/td><td><strong>y<\/strong><\/td>/);
});

test('the list of documents is read with its chapters, also where an entry goes on in the next line', () => {
  const sections = sectionsOf(
    '# D\n\n## One\n\n- [A](a.md): about\n  it.\n- no entry\n\n## Two\n\n- [B](../x/README.md): b.\n',
  );
  assert.deepEqual(sections, [
    { title: 'One', guides: [{ slug: 'a', title: 'A', about: 'about it.', path: 'data/docs/a.md' }] },
    { title: 'Two', guides: [{ slug: 'x', title: 'B', about: 'b.', path: 'data/x/README.md' }] },
  ]);
});
