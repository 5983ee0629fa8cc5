/** Faults of alerts that wake an operator. */
import type { Fault } from './fault.ts';

const PAGES = 'test/fault/alertPages.test.ts';

export const ALERT_FAULTS: readonly Fault[] = [
  {
    name: 'a certificate that was renewed rings as the former one does',
    file: 'gateway/wiring/edge.ts',
    search: '    await this.#server.reloadTls();\n    this.#certificate.read();\n',
    replace: '    await this.#server.reloadTls();\n',
    caughtBy: PAGES,
  },
  {
    name: 'in containers Prometheus cannot reach the port that answers while a start goes on',
    file: 'data/deploy/compose.yaml',
    search: '      ADMIN_HOST: 0.0.0.0\n',
    replace: '',
    caughtBy: 'test/unit/deploy/deploy.test.ts',
  },
  {
    name: 'a request with a key is refused without the cause where answers find no room',
    file: 'gateway/http/stages.ts',
    search: 'held === ERRORS.ENGINE_BUSY && this.#options.idempotency.isDiskFull ? DISK_LOW : { row: held }',
    replace: '{ row: held }',
    caughtBy: 'test/fault/answersDisk.test.ts',
  },
  {
    name: 'an audit log that cannot be written counts as written',
    file: 'gateway/operator/auditLog.ts',
    search: '    this.isWritten = false;\n',
    replace: '',
    caughtBy: 'test/fault/failingDiskPages.test.ts',
  },
  {
    name: 'a thread that ends again and again says so each time',
    file: 'gateway/base/threadEnds.ts',
    search: 'if (nowMs - cause.saidMs < SAY_EVERY_MS) return;',
    replace: '',
    caughtBy: 'test/fault/failingDiskPages.test.ts',
  },
  {
    name: 'DEMO=on hides that the key of a directory without a demo lies beside the data',
    file: 'gateway/main.ts',
    search: 'doubtsAbout(config, isDemo(config, exchange.stores.isNew))',
    replace: 'doubtsAbout(config, config.demo)',
    caughtBy: 'test/api/platform.test.ts',
  },
  {
    name: '/ops is not red for an alert that pages',
    file: 'gateway/web/browser/ops/problem.ts',
    search: "page: 'bad'",
    replace: "page: 'warn'",
    caughtBy: 'test/unit/gateway/web/browser/opsSentences.test.ts',
  },
  {
    name: '/ops shows an audit entry from before the change as that of the change',
    file: 'gateway/web/browser/ops/audited.ts',
    search: 'sequence > after',
    replace: 'sequence !== after',
    caughtBy: 'test/unit/gateway/web/browser/opsSentences.test.ts',
  },
  {
    name: '/ops is red at once for a problem whose alert waits',
    file: 'gateway/web/browser/ops/lasting.ts',
    search: 'leftMs > 0',
    replace: 'leftMs > lastsMs',
    caughtBy: 'test/unit/gateway/web/browser/opsLasting.test.ts',
  },
  {
    name: 'the disk is full only when the reserve is used too',
    file: 'gateway/web/browser/ops/problems.ts',
    search: 'Math.max(free_bytes - reserve_bytes, 0)',
    replace: 'Math.max(free_bytes, 0)',
    caughtBy: 'test/unit/gateway/web/browser/opsSentences.test.ts',
  },
];
