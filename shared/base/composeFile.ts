/**
 * Reads from a compose file the settings with which it starts the exchange, as this machine sees them: the published
 * port, and the file that is mounted into the container.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { parseEnv } from 'node:util';

type Settings = Record<string, string>;
type Service = {
  readonly environment?: Settings | readonly string[];
  readonly ports?: readonly (string | { readonly published: string; readonly target: number; host_ip?: string })[];
  readonly volumes?: readonly (string | { readonly source?: string; readonly target: string })[];
};
type Compose = {
  readonly services?: Readonly<Record<string, Service>>;
  readonly secrets?: Readonly<Record<string, { readonly file?: string }>>;
};

/** The name of the service in the shipped file. */
const EXCHANGE = 'exchange';
const SECRETS = '/run/secrets';
const DEFAULT_PORT = '8080';
const LOOPBACK = '127.0.0.1';
/** Addresses at which a port is published to everyone, and so on loopback as well. */
const EVERY = ['', '0.0.0.0', '::', '[::]'];
const VARIABLE = /\$(?:\$|(\w+)|\{(\w+)(?::?[-?]([^}]*))?\})/g;

/** Settings as this machine sees them: address and port of administrators and their file are those outside. */
export function settingsOfCompose(path: string): Settings {
  const compose = parsed(path);
  const service = compose.services?.[EXCHANGE];
  if (service === undefined) throw new Error(`${path} has no service ${EXCHANGE}`);
  const inside = environmentOf(service);
  const port = inside['ADMIN_PORT'] || inside['PORT'] || DEFAULT_PORT;
  const published = publishedOf(service, port);
  if (published === null) throw new Error(`${path} publishes no port for ${port} of ${EXCHANGE}`);
  const file = inside['ADMIN_TOKEN_FILE'];
  const outside = file === undefined ? null : fileOutside(compose, service, file);
  const { ADMIN_TOKEN_FILE: _, ...settings } = inside;
  return {
    ...settings,
    ADMIN_HOST: published.host,
    ADMIN_PORT: published.port,
    ...(outside === null ? {} : { ADMIN_TOKEN_FILE: isAbsolute(outside) ? outside : join(dirname(path), outside) }),
  };
}

/** Includes the variables of `.env` beside it, which those of this process override. */
function parsed(path: string): Compose {
  // The parser is loaded late: it takes a while, and most commands read no such file.
  const { parse }: typeof import('yaml') = createRequire(import.meta.url)('yaml');
  const beside = join(dirname(path), '.env');
  const variables = { ...(existsSync(beside) ? parseEnv(readFileSync(beside, 'utf8')) : {}), ...process.env };
  const filled = (_: string, name?: string, braced?: string, otherwise = ''): string =>
    name === undefined && braced === undefined ? '$' : variables[name ?? braced!] || otherwise;
  const fill = (value: unknown): unknown => (typeof value === 'string' ? value.replaceAll(VARIABLE, filled) : value);
  return parse(readFileSync(path, 'utf8'), (_, value) => fill(value));
}

function environmentOf({ environment = {} }: Service): Settings {
  const entries = Array.isArray(environment)
    ? environment.map((line: string) => line.split(/=(.*)/).slice(0, 2))
    : Object.entries(environment);
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value ?? '')]));
}

/** Ports are written `8080:80`, with the address before it, or as a table. */
function publishedOf({ ports = [] }: Service, target: string): { readonly host: string; readonly port: string } | null {
  for (const entry of ports) {
    const [, host, port, inside] =
      typeof entry === 'string'
        ? (/^(?:(.*):)?(\d+):(\d+)(?:\/tcp)?$/.exec(entry) ?? [])
        : ['', entry.host_ip, String(entry.published), String(entry.target)];
    if (inside === target) return { host: EVERY.includes(host ?? '') ? LOOPBACK : host!, port: port! };
  }
  return null;
}

/** Relative to the folder of the compose file, or null where no file outside is mounted there. */
function fileOutside({ secrets = {} }: Compose, { volumes = [] }: Service, path: string): string | null {
  for (const entry of volumes) {
    const [source, target] = typeof entry === 'string' ? entry.split(':') : [entry.source, entry.target];
    const rest = target === undefined ? '..' : relative(target, path);
    if (source !== undefined && !rest.startsWith('..') && !isAbsolute(rest)) return join(source, rest);
  }
  return secrets[relative(SECRETS, path)]?.file ?? null;
}
