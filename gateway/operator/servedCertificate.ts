/**
 * The end of validity of the certificate that connections get. It is read when the server reads the certificate, at the
 * start and at a reload: a renewed file that is not loaded is of no use.
 * Owner: the gateway thread.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Config } from '../base/config.ts';

export class ServedCertificate {
  readonly #tls: Config['tls'];
  /** Null without a certificate, or if it cannot be parsed. */
  endMs: number | null = null;

  constructor(tls: Config['tls']) {
    this.#tls = tls;
    this.read();
  }

  /** The first certificate of the file is the server's own. */
  read(): void {
    this.endMs = this.#tls === null ? null : endOf(this.#tls.certFile);
  }
}

function endOf(path: string): number | null {
  try {
    return Date.parse(new X509Certificate(readFileSync(path)).validTo);
  } catch {
    return null;
  }
}
