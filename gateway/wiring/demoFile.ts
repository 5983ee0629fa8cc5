/**
 * The file that marks a data directory as a demo's: its accounts and their keys. Play money may be given away only with
 * this file. The setting alone is not enough: it is on by default on loopback, where an exchange with real funds behind
 * a proxy listens too.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../base/config.ts';

export function demoFile(dataDir: string): string {
  return join(dataDir, 'demo.json');
}

/** @param isNew this start found the directory empty, and fills it with the demo */
export function isDemo({ demo, dataDir }: Pick<Config, 'demo' | 'dataDir'>, isNew: boolean): boolean {
  return demo && (isNew || existsSync(demoFile(dataDir)));
}

type FlowNames = {
  readonly maker: string;
  readonly deeper?: readonly string[];
  readonly broad?: string;
  readonly takers: readonly string[];
  readonly past?: readonly string[];
};

/** The names of the flow's accounts, which are no visitor's. */
export function flowAccounts({ maker, deeper = [], broad, takers, past = [] }: FlowNames): string[] {
  return [maker, ...deeper, ...(broad === undefined ? [] : [broad]), ...takers, ...past];
}
