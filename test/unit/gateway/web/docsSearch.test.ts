/** The parts of a page that the search knows, and what words find. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Entry, searchOver } from '../../../../gateway/web/browser/docsSearch.ts';
import { entriesOf, searchHtml } from '../../../../gateway/web/docsSearch.ts';

const PAGE = {
  href: '/docs/settings',
  title: 'Settings',
  parts: [],
  html: `<h1 id="settings"><a href="#settings">Settings</a></h1><p>A bad value &amp; a start.</p>
<h2 id="all"><a href="#all">All</a></h2><details>hidden</details><table><thead><tr><th>setting</th></tr></thead>
<tbody><tr id="host"><td><code>HOST</code></td><td>The &lt;address&gt;.</td></tr></tbody></table>`,
};

test('headings and rows with an address are entries with their text; collapsed text is not', () => {
  assert.deepEqual(entriesOf(PAGE), [
    {
      kind: 'Setting',
      title: 'Settings',
      page: 'Settings',
      href: '/docs/settings#settings',
      text: 'A bad value & a start.',
    },
    { kind: 'Setting', title: 'All', page: 'Settings', href: '/docs/settings#all', text: 'setting' },
    { kind: 'Setting', title: 'HOST', page: 'Settings', href: '/docs/settings#host', text: 'The <address>.' },
  ]);
  const [first] = entriesOf({ ...PAGE, href: '/docs/api', html: '<h1>Interface</h1> <p>About it.</p>' });
  assert.deepEqual([first!.kind, first!.href, first!.text], ['Route', '/docs/api', 'Interface About it.']);
});

test('the page of the search is a list of links by kind, and no name becomes HTML', () => {
  const html = searchHtml([entry('a <b>', 'x'), entry('c', 'y')], '/docs/assets/i.js');
  assert.match(html, /<h2 id="guide">Guide<\/h2><ul><li><a href="\/docs\/a &lt;b&gt;">a &lt;b&gt;<\/a>/);
  assert.match(html, /data-index="\/docs\/assets\/i\.js"/);
});

test('the search ranks entries by the number of words found, names before texts, rare words before common ones', () => {
  const entries = [
    entry('Cancelling', 'an order is ended'),
    entry('Placing', 'an order rests, or is cancelled at once'),
    entry('Money', 'an order reserves money'),
  ];
  const titles = (query: string): string[] => searchOver(entries)(query).map((found) => found.entry.title);
  assert.deepEqual(titles('cancel'), ['Cancelling', 'Placing']);
  assert.deepEqual(titles('order money')[0], 'Money');
  assert.deepEqual(titles('rest an order')[0], 'Placing');
  for (const nothing of ['', '  ', '?', 'ancel', '.*', 'zzz']) assert.deepEqual(titles(nothing), [], nothing);
});

test('a result shows the text around the word', () => {
  const [found] = searchOver([entry('A', `${'x '.repeat(200)}needle ${'y '.repeat(200)}`)])('NEEDLE');
  assert.match(found!.excerpt, /^… x .*x needle y .* …$/);
  assert.ok(found!.excerpt.length < 220);
});

function entry(title: string, text: string): Entry {
  return { kind: 'Guide', title, page: 'Page', href: `/docs/${title}`, text };
}
