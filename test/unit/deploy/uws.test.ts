/** data/deploy/uws.sh: a build of one's own in the place of the packaged uWebSockets.js. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { binaryProblemIn } from '../../../gateway/base/binaries.ts';
import { temporaryDirectory } from '../../support/directory.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PLATFORM = `${process.platform}-${process.arch}`;
const NAME = `uWebSockets.js/dist/bin/uws_${PLATFORM.replace('-', '_')}_${process.versions.modules}.node`;
const HEADERS = join(dirname(process.execPath), '../include/node/v8.h');
const hasCompiler = spawnSync('c++', ['--version']).status === 0 && existsSync(HEADERS);

/** The layout of the authors' sources; the addon says who built it, with a part in C. */
const SOURCES = {
  'src/addon.cpp': `#include <node.h>
    #include "App.h"
    extern "C" int built();
    static void main_(v8::Local<v8::Object> exports) {
      auto isolate = v8::Isolate::GetCurrent();
      auto context = isolate->GetCurrentContext();
      auto name = v8::String::NewFromUtf8Literal(isolate, "built");
      exports->Set(context, name, v8::Integer::New(isolate, built() + SOURCE)).ToChecked();
    }
    NODE_MODULE(uws, main_)`,
  'uWebSockets/src/App.h': '#define SOURCE 2\n',
  'uWebSockets/uSockets/src/loop.c': 'int built(void) { return 40; }\n',
  'uWebSockets/uSockets/src/eventing/libuv.c': '',
  'uWebSockets/uSockets/src/crypto/openssl.c': '',
  'uWebSockets/uSockets/src/crypto/sni_tree.cpp': '',
};

/** A clone of the project with as much of it as the script needs; its binaries are shared with another clone. */
function clone(): { copy: string; run: (sources: string) => ReturnType<typeof spawnSync> } {
  const copy = temporaryDirectory();
  for (const path of ['data/deploy/uws.sh', 'data/binaries.json']) cpSync(join(ROOT, path), join(copy, path));
  mkdirSync(join(copy, 'node_modules', dirname(NAME)), { recursive: true });
  writeFileSync(join(copy, 'shared of another clone'), 'as it was');
  linkSync(join(copy, 'shared of another clone'), join(copy, 'node_modules', NAME));
  symlinkSync(join(ROOT, 'shared'), join(copy, 'shared'));
  const env = { ...process.env, NODE: process.execPath };
  const run = (sources: string) => spawnSync(join(copy, 'data/deploy/uws.sh'), [sources], { env, encoding: 'utf8' });
  return { copy, run };
}

test('uws.sh compiles the sources for this Node, puts the result in place and pins it', (t) => {
  if (!hasCompiler) return t.skip('needs c++, and the headers of Node beside it');
  const { copy, run } = clone();
  const sources = temporaryDirectory();
  for (const [path, text] of Object.entries(SOURCES)) {
    mkdirSync(dirname(join(sources, path)), { recursive: true });
    writeFileSync(join(sources, path), text);
  }
  const { status, stdout, stderr } = run(sources);
  assert.equal(status, 0, `${stdout}${stderr}`);
  const built = join(copy, 'node_modules', NAME);
  const loaded = spawnSync(process.execPath, ['-p', `require(${JSON.stringify(built)}).built`], { encoding: 'utf8' });
  assert.equal(loaded.stdout, '42\n', loaded.stderr);
  const pinned = JSON.parse(readFileSync(join(copy, 'data/binaries.json'), 'utf8'));
  assert.equal(binaryProblemIn([join(copy, 'node_modules')], pinned, PLATFORM), null);
  const before = JSON.parse(readFileSync(join(ROOT, 'data/binaries.json'), 'utf8'));
  assert.notEqual(pinned[PLATFORM][NAME], before[PLATFORM][NAME]);
  pinned[PLATFORM][NAME] = before[PLATFORM][NAME];
  assert.deepEqual(pinned, before, 'nothing else is changed');
  assert.equal(readFileSync(join(copy, 'shared of another clone'), 'utf8'), 'as it was');
});

test('uws.sh changes nothing when the sources do not compile', (t) => {
  if (!hasCompiler) return t.skip('needs c++, and the headers of Node beside it');
  const { copy, run } = clone();
  const sources = temporaryDirectory();
  mkdirSync(join(sources, 'uWebSockets/uSockets/src'), { recursive: true });
  assert.notEqual(run(sources).status, 0);
  assert.equal(readFileSync(join(copy, 'node_modules', NAME), 'utf8'), 'as it was');
  assert.equal(
    readFileSync(join(copy, 'data/binaries.json'), 'utf8'),
    readFileSync(join(ROOT, 'data/binaries.json'), 'utf8'),
  );
});
