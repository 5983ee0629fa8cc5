/**
 * Keeps what an interrupted `reshard` has left to do (README.md). The file gets its name last: with it the new side
 * counts, and without it the folder is of no use.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RESHARDING_FOLDER, RESHARDING_PLAN } from '../../shared/base/resharding.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';

export type OldEnd = {
  readonly shard: number;
  readonly sequence: number;
  readonly chainLow: number;
  readonly chainHigh: number;
  readonly digest: readonly number[];
};

export type ReshardPlan = {
  readonly before: number;
  readonly shards: number;
  /** The record after which every new journal begins, its chain value, and its time. */
  readonly base: number;
  readonly chainLow: number;
  readonly chainHigh: number;
  readonly timeMs: number;
  readonly floor: number;
  /** The folder into which the files of before move. */
  readonly kept: string;
  /** Names in the data directory that move there, and names that come from the folder of this command. */
  readonly old: readonly string[];
  readonly fresh: readonly string[];
  readonly ends: readonly OldEnd[];
};

/** The part of a plan that control.db keeps. */
export type NotedCut = Pick<ReshardPlan, 'before' | 'shards' | 'base' | 'floor' | 'kept' | 'ends'>;

export function stagingOf(directory: string): string {
  return join(directory, RESHARDING_FOLDER);
}

export function readPlan(directory: string): ReshardPlan | null {
  const path = join(stagingOf(directory), RESHARDING_PLAN);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
}

/** An empty folder. */
export function beginStaging(directory: string): string {
  const staging = stagingOf(directory);
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { mode: 0o700 });
  syncDirectory(directory);
  return staging;
}

export function writePlan(directory: string, plan: ReshardPlan): void {
  const path = join(stagingOf(directory), RESHARDING_PLAN);
  writeFileSync(`${path}.part`, `${JSON.stringify(plan)}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.part`, path);
  syncDirectory(stagingOf(directory));
}

export function endStaging(directory: string): void {
  rmSync(join(stagingOf(directory), RESHARDING_PLAN), { force: true });
  syncDirectory(stagingOf(directory));
  rmSync(stagingOf(directory), { recursive: true, force: true });
  syncDirectory(directory);
}
