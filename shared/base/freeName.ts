/** A name that no file has yet, where the time in a name may not be enough: a clock may be set back. */
import { existsSync } from 'node:fs';

/** @returns `<stem><extension>`, or with a number between them */
export function freeName(stem: string, extension = ''): string {
  let name = `${stem}${extension}`;
  for (let count = 2; existsSync(name); count++) name = `${stem}-${count}${extension}`;
  return name;
}
