/**
 * The pictures that were accepted: for each view a text with the boxes at each width, and a small image with its
 * pictures at each width, light above dark.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { boxOf, differencesOf, lineOf } from './layout.ts';
import { fromSheet, type Picture, shareOfDifferences, toSheet } from './picture.ts';
import type { Print } from './studio.ts';
import { SCHEMES, type View, type Width } from './views.ts';

const DIRECTORY = join(import.meta.dirname, 'accepted');
/** Share of points that may differ: a line that breaks elsewhere is less, a panel that has moved is more. */
const MOST_SHARE = 0.04;

type Prints = ReadonlyMap<Width, Print>;
type Accepted = Pick<Print, 'boxes' | 'pictures'>;

export function accept(view: View, prints: Prints): void {
  mkdirSync(DIRECTORY, { recursive: true });
  const parts = [...prints].map(([width, { boxes, pictures }]) =>
    [`# ${width}, ${pictures.light.height} points high`, ...boxes.map(lineOf)].join('\n'),
  );
  writeFileSync(pathOf(view, 'txt'), `${parts.join('\n\n')}\n`);
  const rows = SCHEMES.map((scheme) => [...prints.values()].map(({ pictures }) => pictures[scheme]));
  writeFileSync(pathOf(view, 'png'), toSheet(rows));
}

/** Null if the view was never accepted. */
export function acceptedOf(view: View): ReadonlyMap<Width, Accepted> | null {
  if (!existsSync(pathOf(view, 'txt'))) return null;
  const parts = readFileSync(pathOf(view, 'txt'), 'utf8').trim().split('\n\n');
  const heads = parts.map((part) => /^# (\d+), (\d+) points/.exec(part)!.slice(1).map(Number));
  const sheet = fromSheet(
    readFileSync(pathOf(view, 'png')),
    heads.map(([, height]) => height),
    SCHEMES.length,
  );
  return new Map(
    parts.map((part, column) => {
      const pictures = { light: sheet[0][column], dark: sheet[1][column] };
      return [heads[column][0] as Width, { boxes: part.split('\n').slice(1).map(boxOf), pictures }];
    }),
  );
}

/** Says in words which changes are beyond the tolerance. */
export function changesOf(view: View, accepted: Accepted | undefined, print: Print): string[] {
  if (accepted === undefined) return ['it was never accepted'];
  const moved = differencesOf(accepted.boxes, print.boxes, view.measured !== undefined);
  const painted = SCHEMES.flatMap((scheme) => {
    const share = shareOf(accepted.pictures[scheme], print.pictures[scheme], print);
    return share > MOST_SHARE ? [`${scheme}: ${(share * 100).toFixed(1)} % of its picture differ`] : [];
  });
  return [...moved, ...painted];
}

function shareOf(before: Picture, now: Picture, { holes }: Print): number {
  return shareOfDifferences(before, now, holes);
}

function pathOf({ name }: View, ending: string): string {
  return join(DIRECTORY, `${name.replaceAll(' ', '-')}.${ending}`);
}
