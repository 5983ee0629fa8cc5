/**
 * Small pictures of views: each point is the mean of a square of the screen. They are robust where pixels are not: the
 * edges of letters differ between versions of a browser, and the mean of fifty letters does not.
 */
import { createRequire } from 'node:module';

type Bitmap = { width: number; height: number; data: Buffer };
type PngCodec = {
  new (size: { width: number; height: number }): Bitmap;
  readonly sync: { read(file: Buffer): Bitmap; write(image: Bitmap): Buffer };
};

/** The codec that playwright-core has in itself, whose version is exact. */
const { PNG } = createRequire(import.meta.url)('playwright-core/lib/utilsBundle') as { PNG: PngCodec };

/** In points. */
export const WIDTH = 32;
const MOST_HEIGHT = 72;
const CHANNELS = 3;
/** Colours are kept in steps: flat areas stay flat, and their files small. */
const STEP = 8;
/** A point differs if one of its channels differs by more. */
const MOST_OF_CHANNEL = 28;

/** Red, green and blue of each point, row by row. */
export type Picture = { readonly height: number; readonly points: Uint8Array };

export function pictureOf(screenshot: Buffer): Picture {
  const { width, height: pixels, data } = PNG.sync.read(screenshot);
  const square = width / WIDTH;
  const height = Math.min(MOST_HEIGHT, Math.floor(pixels / square));
  const points = new Uint8Array(WIDTH * height * CHANNELS);
  for (let row = 0, at = 0; row < height; row++) {
    const [top, bottom] = [Math.round(row * square), Math.round((row + 1) * square)];
    for (let column = 0; column < WIDTH; column++, at += CHANNELS) {
      const [left, right] = [Math.round(column * square), Math.round((column + 1) * square)];
      let [red, green, blue] = [0, 0, 0];
      for (let y = top; y < bottom; y++) {
        for (let x = left, from = (y * width + left) * 4; x < right; x++, from += 4) {
          red += data[from];
          green += data[from + 1];
          blue += data[from + 2];
        }
      }
      const count = (bottom - top) * (right - left);
      points.set(
        [red, green, blue].map((sum) => stepOf(sum / count)),
        at,
      );
    }
  }
  return { height, points };
}

function stepOf(mean: number): number {
  return Math.min(255, Math.round(mean / STEP) * STEP);
}

/** A part of the picture, in its points, that is not compared. */
export type Hole = { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number };

/** @returns the share of points that differ */
export function shareOfDifferences(before: Picture, now: Picture, holes: readonly Hole[]): number {
  if (before.height !== now.height) return 1;
  let differing = 0;
  let compared = 0;
  for (let y = 0, at = 0; y < now.height; y++) {
    for (let x = 0; x < WIDTH; x++, at += CHANNELS) {
      if (holes.some(({ left, top, right, bottom }) => x >= left && x < right && y >= top && y < bottom)) continue;
      compared += 1;
      const differs = [0, 1, 2].some((channel) => {
        return Math.abs(before.points[at + channel] - now.points[at + channel]) > MOST_OF_CHANNEL;
      });
      if (differs) differing += 1;
    }
  }
  return compared === 0 ? 0 : differing / compared;
}

/** Pictures side by side in one file, a row for each scheme. */
export function toSheet(rows: readonly (readonly Picture[])[]): Buffer {
  const columns = Math.max(...rows.map((row) => row.length));
  const sheet = new PNG({ width: columns * WIDTH, height: rows.length * MOST_HEIGHT });
  sheet.data.fill(255);
  for (const [row, pictures] of rows.entries()) {
    for (const [column, { height, points }] of pictures.entries()) {
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < WIDTH; x++) {
          const to = ((row * MOST_HEIGHT + y) * sheet.width + column * WIDTH + x) * 4;
          sheet.data.set(points.subarray((y * WIDTH + x) * CHANNELS, (y * WIDTH + x + 1) * CHANNELS), to);
        }
      }
    }
  }
  return PNG.sync.write(sheet);
}

/** @param heights of the pictures, which are the same in each row */
export function fromSheet(file: Buffer, heights: readonly number[], rows: number): Picture[][] {
  const sheet = PNG.sync.read(file);
  return Array.from({ length: rows }, (_, row) =>
    heights.map((height, column) => {
      const points = new Uint8Array(WIDTH * height * CHANNELS);
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < WIDTH; x++) {
          const from = ((row * MOST_HEIGHT + y) * sheet.width + column * WIDTH + x) * 4;
          points.set(sheet.data.subarray(from, from + CHANNELS), (y * WIDTH + x) * CHANNELS);
        }
      }
      return { height, points };
    }),
  );
}
