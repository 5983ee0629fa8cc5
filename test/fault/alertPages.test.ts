/**
 * Pages that a real Prometheus rings for what really happens to a real exchange: each by its cause, and no other one
 * beside it, and by a neighbour of the cause not that one.
 */
import { copyFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { makeCertificate } from '../support/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { Prometheus, NO_PROMETHEUS as skip } from '../support/prometheus.ts';
import { type Scope, startServer } from '../support/server.ts';

/** An exchange whose administrators, and Prometheus, find it at the same port after each start. */
async function watched(scope: Scope, env: Record<string, string> = {}) {
  const port = await freePort();
  const settings = { SHARDS: '1', ADMIN_PORT: String(port), ...env };
  const server = await startServer(scope, settings);
  const prometheus = await Prometheus.start(scope, { target: `127.0.0.1:${port}`, token: server.adminToken });
  await prometheus.rings([]);
  return { server, settings, prometheus };
}

describe('what a real Prometheus rings', { skip }, () => {
  test('that the certificate ends within two days, and not for one of a week that was renewed', async (t) => {
    const [week, day] = [makeCertificate(7), makeCertificate(1)];
    const env = { PORT: String(await freePort()), TLS_CERT: week.cert, TLS_KEY: week.key };
    const { server, prometheus } = await watched(t, env);
    const serve = async ({ cert, key }: typeof day): Promise<void> => {
      copyFileSync(cert, week.cert);
      copyFileSync(key, week.key);
      const lines = server.stdout.length;
      process.kill(server.pid!, 'SIGHUP');
      await eventually('the certificate is loaded', async () => {
        return server.stdout.slice(lines).some((line) => line.includes('new connections get the certificate'));
      });
    };
    await serve(day);
    await prometheus.rings(['CertificateEndsSoon']);
    await serve(makeCertificate(7));
    await prometheus.rings([]);
    await prometheus.ringsTicket('CertificateEnds');
  });
});
