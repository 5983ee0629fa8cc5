/** The table of commands, and the help, the reference page and the completions made from it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from '../../../../../shared/client/cli/frame/command.ts';
import { GLOBAL_OPTIONS } from '../../../../../shared/client/cli/frame/globalOptions.ts';
import { GROUPS } from '../../../../../shared/client/cli/groups.ts';
import { referencePage } from '../../../../../shared/client/cli/written/reference.ts';
import { temporaryDirectory } from '../../../../support/directory.ts';
import { Pmx } from '../../../../support/pmx.ts';

const ROOT = fileURLToPath(new URL('../../../../..', import.meta.url));
const pmx = new Pmx({});
const commands: readonly Command[] = GROUPS.flatMap((group) => group.commands);

test("the reference page equals the program's own help", async () => {
  const page = referencePage(GROUPS);
  const { out } = await pmx.run(['reference']);
  assert.equal(out, page);
  assert.equal((await pmx.json('reference')).page, page);
});

test("the program's version is the package's", async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  assert.deepEqual(await pmx.run(['--version']), { code: 0, out: `${version}\n`, err: '' });
});

test('every command has a name of its own, an example of itself, and help with it', async () => {
  assert.equal(new Set(commands.map(({ name }) => name)).size, commands.length);
  for (const { name, examples, summary } of commands) {
    assert.ok(examples.length > 0 && examples.every((line) => line.startsWith(name)), name);
    const { code, out } = await pmx.run([...name.split(' '), '--help']);
    assert.equal(code, 0);
    assert.ok(out.includes(`${summary}.`) && out.includes(`$ pmx ${examples[0]}`), name);
  }
});

test('every command is tried by a test', () => {
  const folder = join(ROOT, 'test/api');
  const files = readdirSync(folder).filter((name) => /^(?:cli[A-Z].*|demoRamp|eventSets)\.test\.ts$/.test(name));
  // Commands about files need no server.
  const paths = [...files.map((name) => join(folder, name)), join(ROOT, 'test/unit/engine/history/writer.test.ts')];
  const text = paths.map((path) => readFileSync(path, 'utf8').replace(/\s+/g, ' ')).join('\n');
  const isTried = (name: string): boolean =>
    text.includes(
      name
        .split(' ')
        .map((word) => `'${word}'`)
        .join(', '),
    );
  const here = ['completion', 'reference'];
  const untried = commands.filter(({ name }) => !here.includes(name) && !isTried(name));
  assert.deepEqual(
    untried.map(({ name }) => name),
    [],
  );
});

test('PROGRAM-2: no option and no argument takes a secret', () => {
  const secret = /secret|password|passphrase|private|token$/;
  for (const { name, options, arguments: args } of commands) {
    const taking = [...Object.entries(options), ...Object.entries(args)].filter(
      ([word, spec]) => secret.test(word) && ('value' in spec || !('required' in spec)),
    );
    assert.deepEqual(taking, [], name);
    for (const word of Object.keys(options)) assert.ok(!(word in GLOBAL_OPTIONS), `${name} --${word}`);
  }
});

test('an unknown command is refused with a similar one', async () => {
  const { code, out, err } = await pmx.run(['plase']);
  assert.deepEqual([code, out], [2, '']);
  assert.match(err, /unknown command 'plase'\n\(Did you mean place\?\)/);
  assert.equal((await pmx.run(['markets'])).code, 2);
  assert.equal((await pmx.run([])).code, 2);
  assert.equal((await pmx.run(['--help'])).code, 0);
  const json = await pmx.failure(2, 'plase');
  assert.deepEqual(json, { error: "unknown command 'plase' (Did you mean place?)", code: 'USAGE' });
  assert.equal((await pmx.failure(2, 'markets')).error, 'a command is missing');
});

test('one message names every argument and option that is missing', async () => {
  const error = async (...args: string[]): Promise<string> => (await pmx.failure(2, ...args)).error;
  assert.equal(await error('buy'), 'buy needs <market>, <amount>');
  assert.equal(await error('record', 'rain'), 'record needs <file>');
  assert.equal(await error('groups', 'set'), 'groups set needs <name>, --seconds, --most');
  assert.equal(await error('groups', 'set', '--most', '5', 'quotes'), 'groups set needs --seconds');
  assert.match((await pmx.run(['buy'])).err, /^error: buy needs <market>, <amount>\nTry it with --help\.\n$/);
});

test('bash completes commands, options and their values', async () => {
  const script = join(temporaryDirectory(), 'pmx.bash');
  writeFileSync(script, (await pmx.run(['completion', 'bash'])).out);
  const config = join(temporaryDirectory(), 'config.json');
  for (const name of ['main', 'maker']) {
    assert.equal((await pmx.run(['profile', 'set', name], { env: { PMX_CONFIG: config } })).code, 0);
  }
  const completeBy = (way: string, ...words: string[]): string[] => {
    const program = `source ${script}; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); ${way}; echo "\${COMPREPLY[@]}"`;
    const env = { ...process.env, PMX_CONFIG: config };
    const { stdout, stderr } = spawnSync('bash', ['-c', program, 'bash', ...words], { encoding: 'utf8', env });
    assert.equal(stderr, '');
    return stdout.trim().split(' ');
  };
  const complete = (...words: string[]): string[] => completeBy('_pmx', ...words);
  assert.deepEqual(complete('pmx', 'mar'), ['markets']);
  assert.deepEqual(complete('pmx', 'orders', '--profile', ''), ['main', 'maker'], 'profiles that there are');
  assert.deepEqual(complete('pmx', 'profile', 'use', 'mak'), ['maker']);
  assert.deepEqual(completeBy('_pmx_npx', 'npx', 'pmx', 'markets', 'sea'), ['search'], 'in a clone');
  assert.deepEqual(completeBy('_pmx_npx', 'npx', 'tsc', '--no'), [''], 'others are left to the shell');
  assert.deepEqual(complete('pmx', 'markets', ''), ['list', 'search', 'show', 'candles', 'ticker', 'categories']);
  assert.deepEqual(complete('pmx', '--profile', 'markets', 'admin', 'markets', 'res'), ['resume', 'resolve']);
  assert.deepEqual(complete('pmx', 'place', 'MARKET', '--side', ''), ['buy', 'sell']);
  assert.deepEqual(complete('pmx', 'place', 'MARKET', '--po'), ['--post-only']);
  assert.deepEqual(complete('pmx', 'completion', ''), ['bash', 'zsh', 'fish']);
  assert.ok(complete('pmx', 'balances', '').includes('--json'));
  assert.equal((await pmx.json('completion', 'bash')).shell, 'bash');
});

for (const shell of ['zsh', 'fish']) {
  const isThere = spawnSync(shell, ['-c', 'true']).status === 0;
  test(`${shell} reads its completion`, { skip: isThere ? false : `${shell} is not installed` }, async () => {
    const script = join(temporaryDirectory(), `pmx.${shell}`);
    const { out } = await pmx.run(['completion', shell]);
    writeFileSync(script, out);
    const { status, stderr } = spawnSync(shell, ['-n', script], { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
    for (const { name } of commands) assert.ok(out.includes(name.split(' ').at(-1)!), name);
    if (shell !== 'fish') return;
    for (const line of ['pmx place M --side ', 'npx pmx place M --side ', 'npx pmx-cli place M --side ']) {
      const asked = spawnSync('fish', ['-c', `source ${script}; complete -C '${line}'`], { encoding: 'utf8' });
      assert.deepEqual([asked.stdout, asked.stderr], ['buy\tbuy or sell\nsell\tbuy or sell\n', ''], line);
    }
  });
}

/** Types the line and a tab in a terminal, and prints what comes until it has the words. */
const ZSH_AT_WORK = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "stty cols 200; fpath=($1 \\$fpath); autoload -Uz compinit"
zpty -w z "compinit -u -D; bindkey '^I' list-choices; print R''EADY"
until_seen() { repeat 600 { zpty -r -t z line && out+=$line; [[ $out == *$1* ]] && return; sleep 0.05 }; return 1 }
until_seen READY && out= && zpty -w -n z "$2"$'\t' && until_seen "$3"
code=$?
print -r -- "$out"
zpty -d z
exit $code`;

const hasZsh = spawnSync('zsh', ['-c', 'true']).status === 0;
test('zsh completes at a tab, also of npx pmx in a clone', {
  skip: hasZsh ? false : 'zsh is not installed',
}, async () => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, '_pmx'), (await pmx.run(['completion', 'zsh'])).out);
  for (const [line, seen] of [
    ['pmx place M --side ', 'buy   sell'],
    ['npx pmx markets ', 'Find markets by words'],
    ['npx pmx-cli keys ', 'Revoke an API key'],
  ] as const) {
    const { status, stdout } = spawnSync('zsh', ['-f', '-c', ZSH_AT_WORK, 'zsh', folder, line, seen], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, `${line}: ${stdout}`);
  }
});

test('output that a full disk has lost is a failure, a reader that has left is none', {
  skip: !existsSync('/dev/full'),
}, () => {
  const run = (to: string): number | null => {
    const program = `"${process.execPath}" shared/client/cli/main.ts reference ${to}`;
    return spawnSync('bash', ['-c', `set -o pipefail; ${program}`], { cwd: ROOT }).status;
  };
  assert.deepEqual([run('> /dev/full'), run('| head -c 1')], [1, 0]);
});
