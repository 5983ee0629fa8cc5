/**
 * The image of data/deploy in a container as compose.yaml runs it. It needs an engine that answers (Debian's docker.io)
 * and has the two images that the Dockerfile begins with; building takes the packages from npm.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FILE = join(ROOT, 'data/deploy/Dockerfile');
const NAME = `open-prediction-exchange-test-${process.pid}`;
/** The limits of compose.yaml. */
const LIMITED = ['--init', '--read-only', '--user', '10001:10001', '--cap-drop', 'ALL', '--tmpfs', '/tmp:mode=1777'];

function docker(...args: string[]): { status: number | null; said: string } {
  const env = { ...process.env, DOCKER_BUILDKIT: '0' };
  const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8', env });
  return { status, said: (stdout ?? '') + (stderr ?? '') };
}

function succeeds(...args: string[]): string {
  const { status, said } = docker(...args);
  assert.equal(status, 0, said);
  return said;
}

function missing(): string | false {
  if (docker('version').status !== 0) return 'no engine of Docker answers (Debian: the package docker.io)';
  const images = [...readFileSync(FILE, 'utf8').matchAll(/^ARG \w+_IMAGE=(\S+)$/gm)].map(([, image]) => image!);
  const absent = images.filter((image) => docker('image', 'inspect', image).status !== 0);
  return absent.length > 0 && `the engine does not have ${absent.join(' and ')}`;
}

test('the image builds, is healthy with nothing but its volume to write, and is restored into it', {
  skip: missing(),
}, async (t) => {
  const volumes = [`${NAME}-data:/data`, `${NAME}-backups:/backups`].flatMap((volume) => ['-v', volume]);
  t.after(() => {
    docker('rm', '--force', '--volumes', NAME);
    docker('volume', 'rm', `${NAME}-data`, `${NAME}-backups`);
    docker('image', 'rm', NAME);
  });
  succeeds('build', '--quiet', '--tag', NAME, '--file', FILE, ROOT);
  const run = (name: string[], ...words: string[]): string => {
    return succeeds(
      'run',
      ...name,
      ...LIMITED,
      ...volumes,
      '--env',
      'HOST=127.0.0.1',
      '--env',
      'NODE_ENV=',
      NAME,
      ...words,
    );
  };
  run(['--detach', '--name', NAME]);
  await eventually('a container that is healthy', async () => {
    return succeeds('inspect', '--format', '{{.State.Health.Status}}', NAME).trim() === 'healthy';
  });
  run(['--rm'], 'engine/admin/main.ts', 'backup', '/backups');
  succeeds('stop', '--time', '15', NAME);
  assert.equal(succeeds('inspect', '--format', '{{.State.ExitCode}}', NAME).trim(), '0');
  assert.match(run(['--rm'], 'engine/admin/main.ts', 'journal', 'verify'), /^ok$/m);
  const restored = run(['--rm'], 'engine/admin/main.ts', 'restore', '/backups', '--set-aside');
  assert.match(restored, /^\/data is restored$/m);
  assert.match(restored, /^\/data\/left-\S+ has what was there before$/m);
});
