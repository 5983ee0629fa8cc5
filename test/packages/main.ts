/** `npm run build`: the packages of the client in `dist`, as folders and as the files that `npm install` takes. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildPackage } from './build.ts';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));

rmSync(DIST, { recursive: true, force: true });
for (const name of ['pmx-client', 'pmx-cli'] as const) {
  buildPackage(name, DIST);
  console.log(execFileSync('npm', ['pack', '--silent', `./${name}`], { cwd: DIST, encoding: 'utf8' }).trim());
}
