/** The accounts of a demo, which the exchange wrote to a file of its data directory at its first start. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from './errors.ts';

export type DemoAccount = {
  readonly name: string;
  readonly key_id: string;
  readonly secret: string;
  readonly passphrase: string;
  readonly private_key: string;
  readonly wallet_address: string;
};
export type Demo = { readonly base_url: string; readonly accounts: readonly DemoAccount[] };

const DEFAULT_DATA_DIR = 'data/live';

export function dataDirectory({ DATA_DIR }: NodeJS.ProcessEnv): string {
  return DATA_DIR || DEFAULT_DATA_DIR;
}

/** Null if there is no such file, because other exchanges have no demo. */
export function readDemo(environment: NodeJS.ProcessEnv): Demo | null {
  const path = join(dataDirectory(environment), 'demo.json');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return null;
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${path} is not JSON`);
  }
}

export function demoAccount(demo: Demo | null, name: string): DemoAccount {
  const account = demo?.accounts.find((row) => row.name === name);
  if (account !== undefined) return account;
  const names = demo?.accounts.map((row) => row.name).join(', ') ?? 'none: no demo file';
  throw new UsageError(`there is no demo account ${name} (there is ${names})`);
}
