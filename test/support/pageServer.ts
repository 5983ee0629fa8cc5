/**
 * The server that the tests of the pages share (together.ts), with providers for signing in and for cashing out. Pages
 * stay open over a restart, so its port is chosen and not the system's: a new start listens where the last one did.
 */
import { join } from 'node:path';
import { after } from 'node:test';
import { temporaryDirectory } from './directory.ts';
import { freePort } from './freePort.ts';
import { CLIENT } from './oidcServer.ts';
import { type ProviderServer, startProvider } from './providerServer.ts';
import { startServer, type TestServer } from './server.ts';

type PageServer = {
  readonly server: TestServer;
  /** For a start after a kill. */
  readonly env: Readonly<Record<string, string>>;
  /** Signs people in, once a test has it answer as a provider does. */
  readonly house: ProviderServer;
};

/** A provider of cash-outs that does not answer. */
const SANDBOX = {
  FIAT_PROVIDERS: 'sandbox',
  FIAT_SANDBOX_URL: 'http://127.0.0.1:9',
  FIAT_SANDBOX_API_KEY: 'an-api-key-of-the-provider-of-the-tests',
  FIAT_SANDBOX_WEBHOOK_SECRETS: 'a-secret-of-the-webhooks-of-the-tests',
  FIAT_SANDBOX_ADDRESS: `0x${'d2'.repeat(20)}`,
};

let shared: Promise<PageServer> | undefined;

/** A file finds it running, with the data of others in it, and as a demo or not. It may kill it and start it again. */
export async function pageServer(): Promise<PageServer> {
  shared ??= start();
  const { server, env } = await shared;
  if (!server.isRunning) await server.start(env);
  return shared;
}

async function start(): Promise<PageServer> {
  const house = await startProvider({ after }, (_request, response) => response.writeHead(404).end());
  const env = {
    SHARDS: '1',
    PORT: String(await freePort()),
    OIDC_HOUSE_ISSUER: house.url,
    OIDC_HOUSE_CLIENT_ID: CLIENT.clientId,
    OIDC_HOUSE_CLIENT_SECRET: CLIENT.clientSecret,
    ...SANDBOX,
    BACKUP_TARGET: join(temporaryDirectory(), 'backups'),
  };
  return { server: await startServer({ after }, env), env, house };
}
