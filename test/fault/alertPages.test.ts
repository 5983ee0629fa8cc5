/**
 * Pages that a real Prometheus rings for what really happens to a real exchange: each by its cause, and no other one
 * beside it, and by a neighbour of the cause not that one.
 */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { makeCertificate } from '../support/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { NO_PROMETHEUS, watched } from '../support/prometheus.ts';
import { ROOT } from '../support/server.ts';
import { skipWithoutStrace } from '../support/strace.ts';

/** A start reads its journal a few times. */
const READ_DELAY_US = 5_000_000;

/** compose.yaml starts the exchange so, with the address that the image has. */
function ofContainers(): Record<string, string> {
  const { services } = parse(readFileSync(join(ROOT, 'data/deploy/compose.yaml'), 'utf8'));
  const { TRUST_PROXY, ADMIN_HOST } = services.exchange.environment;
  return { HOST: '0.0.0.0', TRUST_PROXY, ADMIN_HOST, MASTER_KEY: 'ab'.repeat(32), RATE_LIMITS: 'on' };
}

describe('what a real Prometheus rings', { skip: NO_PROMETHEUS }, () => {
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

  test('that the exchange is down, and not while a start goes on, in containers neither', {
    skip: skipWithoutStrace,
  }, async (t) => {
    const publicPort = await freePort();
    const env = { ...ofContainers(), PORT: String(publicPort) };
    const { server, settings, prometheus, port } = await watched(t, env);
    await server.stop();
    await prometheus.rings(['ExchangeDown']);
    const journal = join(server.dataDir, 'journal-0.db');
    const slow = ['strace', '-D', '-f', '-o', '/dev/null', '--seccomp-bpf', '-P', journal, '-e', 'trace=pread64'];
    const starting = server.start(settings, [...slow, '-e', `inject=pread64:delay_enter=${READ_DELAY_US}`]);
    await prometheus.rings([]);
    const during = await (await fetch(`http://127.0.0.1:${port}/ready/metrics`)).text();
    assert.match(during, /^exchange_starting_seconds [1-9]\d*$/m, 'it still starts');
    await assert.rejects(fetch(`http://127.0.0.1:${publicPort}/health`), 'its clients wait');
    await starting;
    await prometheus.rings([]);
  });
});
