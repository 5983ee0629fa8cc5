/** The ways in which a file is damaged, each as an operator may meet it. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Random } from '../random.ts';
import { NOBODY } from './nobody.ts';
import { PAGE_BYTES, placeIn } from './places.ts';
import type { World } from './world.ts';

const SEED = 48;

type Damage = (path: string, name: string, world: Pick<World, 'other' | 'earlier' | 'framesBefore'>) => void;

/** Damages in their order in the table. */
export const DAMAGES: Readonly<Record<string, Damage>> = {
  'flipped byte': (path, _, world) => {
    const { at } = placeIn(path, world.framesBefore);
    change(path, (bytes) => bytes.writeUInt8(bytes[at]! ^ 0x10, at));
  },
  'zeroed page': (path, _, world) => {
    const { page } = placeIn(path, world.framesBefore);
    change(path, (bytes) => bytes.fill(0, page, Math.min(page + PAGE_BYTES, bytes.length)));
  },
  truncated: (path, _, world) => truncateSync(path, placeIn(path, world.framesBefore).end),
  empty: (path) => truncateSync(path, 0),
  garbage: (path) => {
    const random = new Random(SEED);
    change(path, (bytes) => {
      for (let at = 0; at < bytes.length; at++) bytes[at] = random.below(256);
    });
  },
  missing: (path) => rmSync(path),
  'wrong owner': (path) => {
    chownSync(path, 0, 0);
    chmodSync(path, 0o600);
  },
  'read-only': (path) => chmodSync(path, 0o400),
  "another exchange's": (path, name, { other }) => replace(path, join(other, name)),
  'restored older': (path, name, { earlier }) => replace(path, join(earlier, name)),
};

/** The name of a file of the table: of two snapshots M is the older one. */
export function nameIn(directory: string, file: string): string {
  const snapshot = /^snapshot-0-([MN])\.bin$/.exec(file);
  if (snapshot === null) return file;
  const all = readdirSync(directory).filter((name) => /^snapshot-0-\d+\.bin$/.test(name));
  const sequenceOf = (name: string): number => Number(name.slice('snapshot-0-'.length, -'.bin'.length));
  return all.toSorted((a, b) => sequenceOf(a) - sequenceOf(b)).at(snapshot[1] === 'M' ? 0 : -1)!;
}

function change(path: string, damage: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  damage(bytes);
  writeFileSync(path, bytes);
}

/** A database comes with its write-ahead log. A file that the other directory does not have is none. */
function replace(path: string, by: string): void {
  for (const suffix of ['', '-wal']) {
    rmSync(path + suffix, { force: true });
    if (!existsSync(by + suffix)) continue;
    copyFileSync(by + suffix, path + suffix);
    chownSync(path + suffix, NOBODY, NOBODY);
  }
  rmSync(`${path}-shm`, { force: true });
}
