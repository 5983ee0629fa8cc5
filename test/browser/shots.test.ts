/**
 * Every view, at each width, light and dark, looks as it did when its picture was accepted, within a tolerance
 * (`npm run shots -- --accept`). There and at 200 % nothing is cut off, little moves while a view loads, and nothing
 * moves at all for a person who wants no motion.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptedOf, changesOf } from '../shots/accepted.ts';
import { cutOff, moving } from '../shots/layout.ts';
import { NO_STUDIO, type Sitter, Studio } from '../shots/studio.ts';
import { HEIGHTS, VIEWS, WIDTHS, type Width } from '../shots/views.ts';
import { makeWorld } from '../shots/world.ts';
import { fileScope } from '../support/fileScope.ts';

const skip = NO_STUDIO;
/** A chart may be drawn a frame later than its width was given to it. */
const MOST_LOOKS = 10;
/** Less than the eye sees: a view is shown when it is a whole. */
const MOST_SHIFT = 0.001;
/** Documents are shown while they are read: columns of their tables grow with the rows. */
const MOST_SHIFT_OF_DOCS = 0.1;
/** A telephone, and a screen. */
const OPENED_AT: readonly Width[] = [360, 1280];

const studio = skip === false ? await Studio.open(fileScope, await makeWorld(fileScope)) : null;

test('text beyond an edge, a page that scrolls sideways, and what moves without being asked are found', {
  skip,
}, async () => {
  const page = await studio!.blank(`<!doctype html><style>
    div { width: 90px; white-space: nowrap; overflow: hidden }
    #far { position: absolute; left: 340px; width: 60px }
    #scrolled { overflow-x: auto }
    a { transition: color 1s }
    @keyframes turn { to { rotate: 1turn } }
    @media (prefers-reduced-motion: no-preference) { p { animation: turn 1s infinite } }
    b { animation: turn 1s infinite }</style>
    <div>cut off in its box</div><div>fits</div><div id="scrolled">can be scrolled in its box</div>
    <p id="far">beyond the edge of the screen</p><b>turns</b><a href="/">changes</a>`);
  assert.deepEqual(await cutOff(page), [
    'the page is 400 wide',
    'cut off: div "cut off in its box"',
    'cut off: p "beyond the edge of the screen"',
  ]);
  assert.deepEqual(await moving(page), ['runs: turn', 'a has a transition', 'b is animated']);
});

for (const view of VIEWS) {
  test(`the view "${view.name}" looks as accepted, and all of it can be seen at every width`, { skip }, async () => {
    let sitter: Sitter | null = null;
    for (const width of OPENED_AT.filter((each) => (view.widths ?? WIDTHS).includes(each))) {
      sitter = await studio!.show(view, width);
      const { sum, moved } = await sitter.shifts();
      const most = view.name.startsWith('docs') ? MOST_SHIFT_OF_DOCS : MOST_SHIFT;
      assert.ok(sum <= most, `${sum} moves while it loads at ${width}:\n${moved.join('\n')}`);
    }
    assert.ok(sitter !== null);
    const accepted = acceptedOf(view);
    for (const width of sitter.widths) {
      assert.deepEqual(await changesAt(sitter, width, accepted?.get(width)), [], `at ${width}, see npm run shots`);
      assert.deepEqual(await sitter.cutOff(), [], `at ${width}`);
      await sitter.zoom(width);
      assert.deepEqual(await sitter.cutOff(), [], `at 200 % of ${width} x ${HEIGHTS[width]}`);
    }
    assert.deepEqual(await sitter.moving(), [], 'nothing moves with reduced motion');
  });
}

async function changesAt(sitter: Sitter, width: Width, accepted: Parameters<typeof changesOf>[1]): Promise<string[]> {
  let changes: string[] = [];
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    changes = changesOf(sitter.view, accepted, await sitter.print(width));
    if (changes.length === 0) return [];
  }
  return changes;
}
