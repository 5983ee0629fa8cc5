/** The unit or compose file of an exchange: which are found, and what each says of address, token and settings. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  adminTokenOf,
  adminUrlOf,
  findServices,
  onlyService,
  readService,
} from '../../../../shared/base/serviceFile.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const DEPLOY = fileURLToPath(new URL('../../../../data/deploy', import.meta.url));
const START = 'ExecStart=/opt/node --import x \\\n  gateway/main.ts\n';

function written(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** The address of administrators that a unit with these lines has. */
function urlOf(...lines: string[]): string {
  const path = written(join(temporaryDirectory(), 'x.service'), `[Service]\n${lines.join('\n')}\n${START}`);
  return adminUrlOf(readService(path));
}

describe('a unit', () => {
  test('is read with its files and with what systemctl edit has written, each in the order of systemd', () => {
    const folder = temporaryDirectory();
    const env = written(join(folder, 'exchange.env'), '# a comment\nADMIN_PORT=9001\nMASTER_KEY="ab cd"\n');
    const unit = written(
      join(folder, 'exchange.service'),
      `[Service]\nEnvironment=A=1 "B=two words"\nEnvironment=A=2 ADMIN_PORT=1\nEnvironmentFile=-/no/file\n` +
        `EnvironmentFile=${env}\n${START}`,
    );
    written(`${unit}.d/override.conf`, '[Service]\nEnvironment=B=three DATA_DIR=/srv/data\n');
    const service = readService(unit);
    const { A, B, ADMIN_PORT, MASTER_KEY, DATA_DIR } = service.settings;
    assert.deepEqual([A, B, ADMIN_PORT, MASTER_KEY, DATA_DIR], ['2', 'three', '9001', 'ab cd', '/srv/data']);
    assert.equal(adminUrlOf(service), 'http://127.0.0.1:9001');
    assert.equal(adminTokenOf(service), null);
    assert.throws(() => readService(join(folder, 'no.service')), /no\.service cannot be read \(ENOENT\)$/);
  });

  test('says where its administrators are: the admin port, else the port of all', () => {
    assert.equal(urlOf(), 'http://127.0.0.1:8080');
    assert.equal(urlOf('Environment=HOST=0.0.0.0 PORT=9000'), 'http://127.0.0.1:9000');
    assert.equal(urlOf('Environment=HOST=0.0.0.0 TLS_CERT=c ADMIN_PORT=8081'), 'http://127.0.0.1:8081');
    const certificate = 'Environment=TLS_CERT=c PORT=443 PUBLIC_URL=https://x.example.org';
    assert.equal(urlOf(certificate), 'https://x.example.org:443');
    assert.equal(urlOf(`${certificate} ADMIN_HOST=10.0.0.1 ADMIN_PORT=8081`), 'https://x.example.org:8081');
  });

  test('has its token in a setting, a file, or the data directory', () => {
    const folder = temporaryDirectory();
    written(join(folder, 'admin.token'), 'of-the-directory\n');
    written(join(folder, 'other'), 'of-a-file\n');
    const tokenOf = (lines: string) =>
      adminTokenOf(readService(written(join(temporaryDirectory(), 'x.service'), `${lines}\n${START}`)));
    assert.equal(tokenOf(`Environment=DATA_DIR=${folder}`), 'of-the-directory');
    assert.equal(tokenOf(`Environment=ADMIN_TOKEN_FILE=${folder}/other DATA_DIR=${folder}`), 'of-a-file');
    assert.equal(tokenOf('Environment=ADMIN_TOKEN=given'), 'given');
    assert.throws(() => tokenOf('Environment=ADMIN_TOKEN_FILE=/no/file'), /\/no\/file cannot be read \(ENOENT\)/);
  });
});

describe('services are found', () => {
  test('a unit is found by the program that it starts; of two none is chosen, and both are named', () => {
    const [one, other] = [temporaryDirectory(), temporaryDirectory()];
    const first = written(join(one, 'exchange.service'), START);
    written(join(one, 'exchange-backup.service'), 'ExecStart=node engine/admin/main.ts backup /b\n');
    written(join(one, 'ssh.service'), 'ExecStart=/usr/sbin/sshd\n');
    assert.deepEqual(findServices([one, other, '/no/folder'], other), [first]);
    assert.equal(onlyService([first])!.path, first);
    assert.equal(onlyService([]), null);
    assert.throws(() => onlyService([first], ['--url http://127.0.0.1:8080']), {
      name: 'ServiceError',
      message: `there is more than one exchange here; choose with --service ${first} or --url http://127.0.0.1:8080`,
    });
    const second = written(join(other, 'second.service'), START);
    assert.deepEqual(findServices([one, other], other), [first, second]);
  });

  test('by a compose file that was filled in', () => {
    const folder = temporaryDirectory();
    const compose = written(join(folder, 'data/deploy/compose.yaml'), '# open-prediction-exchange\nservices: {}\n');
    assert.deepEqual(findServices([], folder), []);
    written(join(folder, 'data/deploy/.env'), 'DOMAIN=x.example.org\n');
    assert.deepEqual(findServices([], folder), [compose]);
    assert.throws(() => readService(compose), /has no service exchange$/);
  });
});

describe('a compose file', () => {
  test('of another form says the same: a table of ports, a list of settings, a secret', () => {
    const folder = temporaryDirectory();
    written(join(folder, 'token'), 'secret-token');
    const path = written(
      join(folder, 'compose.yaml'),
      'services:\n  exchange:\n    environment: [ADMIN_PORT=8081, ADMIN_TOKEN_FILE=/run/secrets/admin_token]\n' +
        '    ports: [{ target: 8080, published: 80 }, { target: 8081, published: "7000", host_ip: 127.0.0.1 }]\n' +
        'secrets: { admin_token: { file: ./token } }\n',
    );
    const service = readService(path);
    assert.deepEqual([adminUrlOf(service), adminTokenOf(service)], ['http://127.0.0.1:7000', 'secret-token']);
    written(path, 'services: { exchange: { environment: { ADMIN_PORT: 8081 }, ports: ["8080:8080"] } }\n');
    assert.throws(() => readService(path), /publishes no port for 8081 of exchange$/);
  });
});

test('the shipped files name address and token', () => {
  const folder = temporaryDirectory();
  const copied = (name: string) => {
    const text = readFileSync(join(DEPLOY, name), 'utf8');
    return written(join(folder, name), text.replaceAll('/etc/open-prediction-exchange', folder));
  };
  written(join(folder, 'admin.token'), 'of-the-unit');
  written(join(folder, 'secrets/exchange/admin.token'), 'of-compose');
  copied('exchange.env');
  const [unit, compose] = ['open-prediction-exchange.service', 'compose.yaml'].map((name) => readService(copied(name)));
  assert.deepEqual([adminUrlOf(unit!), adminTokenOf(unit!)], ['http://127.0.0.1:8081', 'of-the-unit']);
  assert.deepEqual([adminUrlOf(compose!), adminTokenOf(compose!)], ['http://127.0.0.1:8081', 'of-compose']);
  assert.equal(unit!.settings['DATA_DIR'], '/var/lib/open-prediction-exchange');
  const backup = copied('open-prediction-exchange-backup.service');
  assert.ok(!findServices([dirname(backup)], '/no/folder').includes(backup));
});
