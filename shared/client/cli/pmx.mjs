#!/usr/bin/env node
/**
 * The command `pmx`: in the Node that starts it where that one is new enough, which is twice as fast, and otherwise in
 * the Node that the project brings. Plain JavaScript, because the Node that starts it may not know TypeScript.
 */
import { fileURLToPath } from 'node:url';

/** The first Node with a WebSocket and with the hooks that load the sources. */
const LEAST = { major: 22, minor: 15 };

const [major, minor] = process.versions.node.split('.').map(Number);
if (major > LEAST.major || (major === LEAST.major && minor >= LEAST.minor)) {
  await import('../../base/keptSources.mjs');
  await import('./main.ts');
} else {
  process.argv.splice(2, 0, fileURLToPath(new URL('./main.ts', import.meta.url)));
  await import('../../run.mjs');
}
