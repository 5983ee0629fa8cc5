/** Finds names that no file has yet. The time in a name may not be enough, because a clock may be set back. */
import { existsSync, readdirSync } from 'node:fs';
import { systemClock } from './clock.ts';

/**
 * @param alsoWith endings of files that belong to the named one: no file has the name with one of these either
 * @returns `<stem><extension>`, or with a number between them
 */
export function freeName(stem: string, extension = '', alsoWith: readonly string[] = []): string {
  const isTaken = (name: string): boolean => ['', ...alsoWith].some((ending) => existsSync(name + ending));
  let name = `${stem}${extension}`;
  for (let count = 2; isTaken(name); count++) name = `${stem}-${count}${extension}`;
  return name;
}

/** Part of the names of files that are set aside or made together: the time, with a number if a name has it already. */
export function freeTime(directory: string): string {
  const names = readdirSync(directory);
  const time = new Date(systemClock.nowMs()).toISOString().replace(/[-:]|\.\d+/g, '');
  let free = time;
  for (let count = 2; names.some((name) => name.includes(free)); count++) free = `${time}-${count}`;
  return free;
}
