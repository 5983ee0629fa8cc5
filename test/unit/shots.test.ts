/** Pictures of views are compared with the accepted ones (test/shots) with a tolerance. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Box, boxOf, differencesOf, lineOf, PIXELS } from '../shots/layout.ts';
import { fromSheet, type Picture, pictureOf, shareOfDifferences, toSheet, WIDTH } from '../shots/picture.ts';

const HEADER: Box = ['header.top', 0, 0, 360, 48];
const CARD: Box = ['li.card', 16, 120, 328, 200];

test('a box that moves by a few pixels is the same; one that moves by more, or is gone, is named', () => {
  const near: Box = ['li.card', 16 + PIXELS, 120 - PIXELS, 328, 204];
  assert.deepEqual(differencesOf([HEADER, CARD], [HEADER, near]), []);
  assert.deepEqual(differencesOf([HEADER, CARD], [HEADER, ['li.card', 16, 120 + PIXELS + 1, 328, 200]]), [
    'li.card was at li.card 16 120 328 200, and is at li.card 16 125 328 200',
  ]);
  assert.deepEqual(differencesOf([HEADER, CARD], [HEADER]), ['box 2 was li.card 16 120 328 200, and is not there']);
  assert.deepEqual(differencesOf([CARD], [HEADER, CARD]), [
    'box 1 was li.card 16 120 328 200, and is header.top 0 0 360 48',
  ]);
  const four = [HEADER, HEADER, HEADER, CARD];
  assert.deepEqual(differencesOf([...four, CARD], [HEADER, HEADER, HEADER, ['li.card', 16, 900, 330, 90]], true), []);
  assert.equal(differencesOf(four, [HEADER, HEADER, HEADER, ['li.card', 16, 120, 200, 200]], true).length, 1);
  assert.deepEqual(boxOf(lineOf(CARD)), CARD);
});

/** Grey, with a band of another shade from one row to another. */
function banded(height: number, from: number, to: number, shade: number): Picture {
  const points = new Uint8Array(WIDTH * height * 3).fill(64);
  points.fill(shade, WIDTH * from * 3, WIDTH * to * 3);
  return { height, points };
}

test('a picture comes back from its sheet, and is the mean of each square of a screenshot', () => {
  const rows = [
    [banded(20, 0, 0, 0), banded(72, 4, 9, 200)],
    [banded(20, 1, 2, 248), banded(72, 0, 72, 8)],
  ];
  assert.deepEqual(fromSheet(toSheet(rows), [20, 72], 2), rows);
  // A sheet of two columns is a screenshot of twice the width: each point is the mean of four.
  const halves = pictureOf(toSheet([[banded(72, 0, 72, 0), banded(72, 0, 72, 200)]]));
  assert.equal(halves.height, 36);
  assert.deepEqual([...halves.points.subarray(0, 3)], [0, 0, 0]);
  assert.deepEqual([...halves.points.subarray((WIDTH - 1) * 3, WIDTH * 3)], [200, 200, 200]);
  const mixed = pictureOf(toSheet([[banded(72, 1, 2, 192), banded(72, 1, 2, 192)]]));
  assert.deepEqual([...mixed.points.subarray(0, 3)], [128, 128, 128]);
});

test('a slight change of shade is the same, a panel in another colour is not, and a hole is not compared', () => {
  const before = banded(40, 10, 20, 200);
  assert.equal(shareOfDifferences(before, banded(40, 10, 20, 180), []), 0);
  assert.equal(shareOfDifferences(before, banded(40, 10, 20, 100), []), 0.25);
  assert.equal(
    shareOfDifferences(before, banded(40, 10, 20, 100), [{ left: 0, top: 10, right: WIDTH, bottom: 20 }]),
    0,
  );
  assert.equal(shareOfDifferences(before, banded(41, 10, 20, 200), []), 1);
});
