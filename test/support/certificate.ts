/** Certificates for servers of tests. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { temporaryDirectory } from './directory.ts';

/** A self-signed certificate for localhost that expires after this many days. */
export function makeCertificate(days = 1): { cert: string; key: string } {
  const directory = temporaryDirectory();
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', String(days)];
  execFileSync('openssl', ['req', ...made, ...subject, '-keyout', key, '-out', cert], { stdio: 'pipe' });
  return { cert, key };
}
