/** Finds a Python that has the packages of the Python client (Debian's), or says why there is none. */
import { type SpawnOptions, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The folder that the package is imported from. */
export const PYTHON_CLIENT = fileURLToPath(new URL('../../shared/client/python', import.meta.url));
/** Programs of tests. */
export const PYTHON_TESTS = fileURLToPath(new URL('python', import.meta.url));
const MODULES = ['httpx', 'websockets', 'ecdsa', 'Cryptodome'];
/** The one in the path may differ from Debian's, which has Debian's packages. */
const PYTHONS = ['python3', '/usr/bin/python3'];

function has(python: string, modules: readonly string[]): boolean {
  return spawnSync(python, ['-c', `import ${modules.join(', ')}`]).status === 0;
}

/** Null: this machine has none. */
export const PYTHON: string | null = PYTHONS.find((python) => has(python, MODULES)) ?? null;
export const NO_PYTHON: string | false =
  PYTHON === null &&
  'no Python has httpx, websockets, ecdsa and Cryptodome: apt-get install python3-httpx python3-websockets ' +
    'python3-ecdsa python3-pycryptodome';
export const MYPY: string | null = PYTHONS.find((python) => has(python, ['mypy', ...MODULES])) ?? null;
export const NO_MYPY: string | false = MYPY === null && 'mypy is not installed beside them: apt-get install mypy';

/** @param input the program's standard input */
export function runPython(args: readonly string[], input = ''): SpawnSyncReturns<string> {
  const [python, options] = pythonCommand();
  return spawnSync(python, args, { ...options, input, encoding: 'utf8', stdio: 'pipe' });
}

/** For programs that run beside the test. */
export function pythonCommand(): readonly [string, SpawnOptions] {
  // Nothing is written beside the sources.
  const env = { ...process.env, PYTHONPATH: PYTHON_CLIENT, PYTHONDONTWRITEBYTECODE: '1' };
  return [PYTHON!, { env, cwd: PYTHON_CLIENT }];
}
