/**
 * The examples of the documents about the client are one program each: compiled strictly, and run from top to bottom
 * with the compiled client against a real exchange. `// prints:` is compared with what a line prints. Examples that
 * need an exchange on a chain are a program that is only compiled.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generatePrivateKey } from 'viem/accounts';
import type { Scope } from '../../shared/client/types.ts';
import { compile, programDirectory } from '../support/compiledClient.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Names that the examples of the README use and do not declare. */
const README_PRELUDE = `
const { EXCHANGE_URL: baseUrl, API_KEY, API_SECRET, API_PASSPHRASE } = process.env as Record<string, string>;
const { PRIVATE_KEY: privateKey, OTHER_KEY: otherWallet, MARKET_ID: marketId } = process.env as Record<string, string>;
const credentials = { keyId: API_KEY, secret: API_SECRET, passphrase: API_PASSPHRASE };
`;
const DOCUMENTS = [
  { path: 'data/docs/sdk.md', name: 'guide.ts', prelude: '' },
  { path: 'shared/client/README.md', name: 'readme.ts', prelude: README_PRELUDE },
];

/** The names that the examples on a chain use and do not declare. The types of viem ask for more than strings. */
const CHAIN_PRELUDE = `
import type { ExchangeClient } from 'pmx-client';
declare const client: ExchangeClient;
declare const wallet: {
  signTypedData(data: object): Promise<string>;
  sendTransaction(transaction: { readonly to: string; readonly data: string }): Promise<string>;
};
`;
const ON_CHAIN = 'needs an exchange on a chain';

const ALL: Scope[] = ['read:account', 'trade:orders', 'trade:bulk', 'manage:account', 'stream:market', 'stream:user'];

const server = await sharedServer();

function programOf(path: string, isOnChain = false): string {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return [...text.matchAll(/^```ts\b([^\n]*)\n(.*?)^```$/gms)]
    .filter(([, marks]) => marks!.includes(ON_CHAIN) === isOnChain)
    .map(([, , code]) => code)
    .join('\n');
}

before(() => {
  for (const { path, name, prelude } of DOCUMENTS) {
    writeFileSync(join(programDirectory(), name), `${prelude}${programOf(path)}\nexport {};\n`);
  }
  const onChain = programOf('data/docs/sdk.md', true);
  writeFileSync(join(programDirectory(), 'onChain.ts'), `${CHAIN_PRELUDE}${onChain}\nexport {};\n`);
  writeFileSync(join(programDirectory(), 'package.json'), '{"type":"module"}');
});

test('the examples of the documents compile', () => {
  const names = DOCUMENTS.map(({ name }) => name);
  const options = ['--noEmit', '--strict', '--target', 'ES2023', '--module', 'NodeNext', '--types', 'node'];
  compile(programDirectory(), ...options, '--skipLibCheck', ...names, 'onChain.ts');
});

for (const { path, name } of DOCUMENTS) {
  test(`the examples of ${path} have the results that they state`, async () => {
    const market = await makeMarket(server);
    const privateKey = generatePrivateKey();
    const reader = await makeTrader(server, { privateKey, scopes: ALL });
    const other = await makeTrader(server);
    // Someone sells Yes at 0.60: a bid for No at 0.40.
    await other.place(market, { outcomeIndex: 1, price: '0.40', size: '50' });
    const env = {
      PATH: process.env['PATH'],
      EXCHANGE_URL: server.baseUrl,
      API_KEY: reader.credentials.keyId,
      API_SECRET: reader.credentials.secret,
      API_PASSPHRASE: reader.credentials.passphrase,
      PRIVATE_KEY: privateKey,
      OTHER_KEY: generatePrivateKey(),
      MARKET_ID: market.id,
    };
    const { stdout, stderr } = await run(process.execPath, [name], {
      cwd: programDirectory(),
      env,
      timeout: PATIENCE_MS,
    });
    assert.doesNotMatch(stderr, /Error/);
    const expected = [...programOf(path).matchAll(/\/\/ prints: (.*)$/gm)].map(([, text]) => text);
    assert.ok(expected.length > 0);
    assert.deepEqual(stdout.trimEnd().split('\n'), expected);
  });
}
