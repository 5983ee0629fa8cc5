/** Faults of what wakes an operator. */
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
    name: 'DEMO=on hides that the key of a directory without a demo lies beside the data',
    file: 'gateway/main.ts',
    search: 'doubtsAbout(config, isDemo(config, exchange.stores.isNew))',
    replace: 'doubtsAbout(config, config.demo)',
    caughtBy: 'test/api/platform.test.ts',
  },
];
