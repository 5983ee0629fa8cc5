/**
 * Reads a systemd unit for the settings with which it starts the exchange, as `systemctl show` would report them, but
 * without a running systemd.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseEnv } from 'node:util';

type Settings = Record<string, string>;

/** Units written by an administrator come before those of the running system and of packages. */
export const UNIT_FOLDERS = ['/etc/systemd/system', '/run/systemd/system', '/usr/lib/systemd/system'] as const;
/** Here are the changes that `systemctl edit` has written for a unit, whatever folder the unit is in. */
const EDITED_IN = UNIT_FOLDERS[0];
const CREDENTIALS = '%d/';

/** The unit files in a folder that start an exchange; other units of it, such as that of a backup, are not included. */
export function unitsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder).flatMap((name) => (name.endsWith('.service') ? [join(folder, name)] : []));
  return paths.filter((path) => existsSync(path) && /^ExecStart=.*\bgateway\/main\.ts/m.test(unfolded(path)));
}

export function settingsOfUnit(path: string): Settings {
  const settings: Settings = {};
  const fromFiles: Settings = {};
  const credentials = new Map<string, string>();
  for (const line of [path, ...changesOf(path)].flatMap((file) => unfolded(file).split('\n'))) {
    const [, key, value] = /^(\w+)=(.*)$/.exec(line.trim()) ?? [];
    if (key === 'Environment') Object.assign(settings, assignmentsIn(value));
    if (key === 'EnvironmentFile' && value !== '') Object.assign(fromFiles, settingsOfFile(value));
    if (key !== 'LoadCredential') continue;
    const [name, source] = value.split(/:(.*)/);
    if (source !== undefined) credentials.set(name, source);
  }
  // A file overrides the unit, as in systemd.
  for (const [name, text] of Object.entries(Object.assign(settings, fromFiles))) {
    const source = text.startsWith(CREDENTIALS) ? credentials.get(text.slice(CREDENTIALS.length)) : undefined;
    settings[name] = source ?? text;
  }
  return settings;
}

function changesOf(path: string): string[] {
  const folders = new Set([`${path}.d`, join(EDITED_IN, `${basename(path)}.d`)]);
  return [...folders].filter(existsSync).flatMap((folder) => {
    const names = readdirSync(folder).filter((name) => name.endsWith('.conf'));
    return names.sort().map((name) => join(folder, name));
  });
}

/** A line that ends with a backslash continues on the next line. */
function unfolded(path: string): string {
  return readFileSync(path, 'utf8').replaceAll(/\\\n/g, ' ');
}

/** `A=1 "B=two words"` */
function assignmentsIn(value: string): Settings {
  const words = value.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return Object.fromEntries(words.map((word) => word.replaceAll(/["']/g, '').split(/=(.*)/).slice(0, 2)));
}

/** A hyphen before the name says that the file may be missing. */
function settingsOfFile(value: string): Settings {
  const path = value.replace(/^-/, '');
  if (path !== value && !existsSync(path)) return {};
  return parseEnv(readFileSync(path, 'utf8')) as Settings;
}
