/**
 * The place in which a document's commands run: the project as a clone has it, with its packages unless the document
 * installs them first, and an environment that has nothing of the caller's settings.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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
  if (hasPackages) linkPackages(directory);
  mkdirSync(join(top, 'home'));
  const environment = environmentOf(join(top, 'home'), directory, port);
  const bin = join(top, 'bin');
  mkdirSync(bin);
  environment['PATH'] = `${bin}:${environment['PATH']}`;
  if (PYTHON !== null && PYTHON !== 'python3') symlinkSync(PYTHON, join(bin, 'python3'));
  if (hasPackages) {
    for (const [name, text] of Object.entries(shortcuts())) writeFileSync(join(bin, name), text, { mode: 0o755 });
    // A rehearsal takes as much of the processor as the start itself.
    environment['REHEARSE'] = 'off';
  }
  return { directory, environment };
}

/**
 * Without npm, which takes most of a second of processor time before it starts the program, and without the outer Node
 * of pmx. A document that installs the packages itself has npm's own, and finds the same programs.
 */
function shortcuts(): Record<string, string> {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const otherwise = (name: string): string => `PATH=\${PATH#"$(dirname "$0"):"} exec ${name} "$@"\n`;
  return {
    npx: `#!/bin/sh
if [ "$1" = pmx ] && [ "$PWD" = "$PROJECT" ]; then
  shift; exec '${process.execPath}' "$PROJECT/shared/client/cli/pmx.mjs" "$@"
fi
${otherwise('npx')}`,
    npm: `#!/bin/sh
case "$PWD $*" in
"$PROJECT ci") exit ;;
"$PROJECT start") exec ${scripts.start} ;;
"$PROJECT run -s admin -- "*) shift 4; exec ${scripts.admin} "$@" ;;
esac
${otherwise('npm')}`,
  };
}

/** The files of a clone, with changes that are not committed. */
export function sourcesOf(): string[] {
  const args = ['ls-files', '-zco', '--exclude-standard'];
  const listed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  return listed.filter((path) => path !== '' && existsSync(join(ROOT, path)));
}

/**
 * Each package is a link to the installed one: a document with packages installs none into them. What is kept beside
 * them is copied, because documents add to it. V8's compiled code is left out: it belongs to the paths of the sources,
 * and other processes may be writing it.
 */
function linkPackages(directory: string): void {
  const [packages, links] = [join(ROOT, 'node_modules'), join(directory, 'node_modules')];
  mkdirSync(links);
  for (const name of readdirSync(packages).filter((each) => each !== CACHE))
    symlinkSync(join(packages, name), join(links, name));
  const kept = join(packages, CACHE);
  if (!existsSync(kept)) return;
  mkdirSync(join(links, CACHE));
  const onOne = statSync(packages).dev === statSync(directory).dev;
  const names = readdirSync(kept).filter((each) => each !== COMPILED);
  if (names.length > 0) execFileSync('cp', [onOne ? '-al' : '-a', ...names, join(links, CACHE)], { cwd: kept });
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
