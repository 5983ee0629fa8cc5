/**
 * The place in which a document's commands run: the project as a clone has it, with its packages unless the document
 * installs them first, and an environment that has nothing of the caller's settings.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/directory.ts';
import { PYTHON } from '../support/pythonPrograms.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KEPT = /^(?:PATH|LANG|LC_.*|TERM|TMPDIR|CI|(?:HTTPS?|NO|ALL)_PROXY|SSL_CERT_.*|NODE_EXTRA_CA_CERTS)$/i;
/** Below the packages, as shared/base/keptFiles.mjs has them. */
const CACHE = '.cache';
const COMPILED = 'compiled';

export type Place = { readonly directory: string; readonly environment: NodeJS.ProcessEnv };

/**
 * @param port stands for 8080, which another exchange may have
 * @param hasPackages false: it is a clone in which nothing was installed yet
 */
export function makePlace(port: number, hasPackages = true): Place {
  const top = temporaryDirectory();
  const directory = join(top, 'open-prediction-exchange');
  for (const path of sourcesOf()) cpSync(join(ROOT, path), join(directory, path));
  if (hasPackages) copyPackages(directory);
  mkdirSync(join(top, 'home'));
  const environment = environmentOf(join(top, 'home'), directory, port);
  const bin = join(top, 'bin');
  mkdirSync(bin);
  environment['PATH'] = `${bin}:${environment['PATH']}`;
  if (PYTHON !== null && PYTHON !== 'python3') symlinkSync(PYTHON, join(bin, 'python3'));
  if (hasPackages) writeFileSync(join(bin, 'npx'), NPX, { mode: 0o755 });
  return { directory, environment };
}

/**
 * Without npm, which takes most of a second of processor time before it starts the program. Documents that install the
 * packages themselves have npm's own, and find the same program.
 */
const NPX = `#!/bin/sh
if [ "$1" = pmx ] && [ "$PWD" = "$PROJECT" ]; then shift; exec node "$PROJECT/shared/client/cli/pmx.mjs" "$@"; fi
PATH=\${PATH#"$(dirname "$0"):"} exec npx "$@"
`;

/** The files of a clone, with changes that are not committed. */
export function sourcesOf(): string[] {
  const args = ['ls-files', '-zco', '--exclude-standard'];
  const listed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  return listed.filter((path) => path !== '' && existsSync(join(ROOT, path)));
}

/**
 * Only the names of the installed packages are linked, because `npm ci` in a document removes its own; if the temporary
 * directory is on another file system, they are copied. V8's compiled code is left out: it belongs to the paths of the
 * sources, and other processes may be writing it.
 */
function copyPackages(directory: string): void {
  const packages = join(ROOT, 'node_modules');
  const onOne = statSync(packages).dev === statSync(directory).dev;
  const copy = (folder: string, left: string): void => {
    const names = readdirSync(join(packages, folder)).filter((name) => name !== left);
    const to = join(directory, 'node_modules', folder);
    mkdirSync(to);
    if (names.length > 0) execFileSync('cp', [onOne ? '-al' : '-a', ...names, to], { cwd: join(packages, folder) });
  };
  copy('.', CACHE);
  if (existsSync(join(packages, CACHE))) copy(CACHE, COMPILED);
}

function environmentOf(home: string, project: string, port: number): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => KEPT.test(name));
  const { HOME = '/', PYENV_ROOT = join(HOME, '.pyenv'), PYTHONUSERBASE = join(HOME, '.local') } = process.env;
  return {
    ...Object.fromEntries(kept),
    PYENV_ROOT,
    PYTHONUSERBASE,
    HOME: home,
    PROJECT: project,
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    ADMIN_TOKEN: randomBytes(24).toString('base64url'),
    DEMO_FLOW: 'off',
    DEMO_RAMP: 'off',
    // Documents show nothing that npm says of itself. Packages come from its cache where they can.
    npm_config_cache: process.env['npm_config_cache'] ?? join(HOME, '.npm'),
    npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(HOME, '.npmrc'),
    npm_config_loglevel: 'error',
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  };
}
