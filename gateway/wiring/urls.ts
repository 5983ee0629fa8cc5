/** The URLs of the servers of this process. */
import type { Config } from '../base/config.ts';

/** The URL at which this machine reaches it; an address that stands for all is reached at this machine's own. */
export function urlOf({ host, tls }: Pick<Config, 'host' | 'tls'>, port: number): string {
  const isAnyAddress = host === '0.0.0.0' || host === '::';
  const name = isAnyAddress ? '127.0.0.1' : host;
  return `${tls === null ? 'http' : 'https'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
