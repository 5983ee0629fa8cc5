/** The URLs of the servers of this process. */
import type { Config } from '../base/config.ts';

/**
 * Returns the URL at which this machine reaches the server; for a wildcard address such as 0.0.0.0 that is this
 * machine's own address.
 */
export function urlOf({ host, tls }: Pick<Config, 'host' | 'tls'>, port: number): string {
  const isAnyAddress = host === '0.0.0.0' || host === '::';
  const name = isAnyAddress ? '127.0.0.1' : host;
  return `${tls === null ? 'http' : 'https'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
