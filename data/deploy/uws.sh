#!/bin/sh
# Compiles uWebSockets.js from the sources of its authors for the Node that runs the exchange, puts it in the place of
# the packaged binary, and pins it in data/binaries.json:
#
#     git clone --recurse-submodules --branch v20.56.0 https://github.com/uNetworking/uWebSockets.js uws
#     data/deploy/uws.sh uws
#
# It needs g++ 12 or later. The headers of Node come with the package of Node, and TLS and compression are those that
# Node has in itself, so they are mended with it. HTTP/3 is declared and not linked: the exchange does not use it. NODE
# names another Node than that of the platform's package.
set -eu
sources=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
node=${NODE:-$(node shared/run.mjs -p process.execPath)}
headers=$(dirname "$node")/../include/node
[ -f "$headers/v8.h" ] || { echo "$headers has no headers of Node" >&2; exit 1; }
name=$("$node" -p '`uws_${process.platform}_${process.arch}_${process.versions.modules}.node`')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sockets=$sources/uWebSockets/uSockets/src
flags="-DLIBUS_USE_LIBUV -DLIBUS_USE_OPENSSL -pthread -O3 -fPIC -w -I $headers -I $sockets"
# shellcheck disable=SC2086 # the flags are words
(
  cd "$work"
  cc $flags -c "$sockets"/*.c "$sockets"/eventing/*.c "$sockets"/crypto/*.c
  c++ $flags -DUWS_WITH_PROXY -DLIBUS_USE_QUIC -std=c++20 -I "$sources/uWebSockets/src" -c "$sources/src/addon.cpp" "$sockets/crypto/sni_tree.cpp"
  c++ -shared -s -static-libstdc++ -static-libgcc -pthread ./*.o -Wl,-z,lazy -o "$name"
)
file=uWebSockets.js/dist/bin/$name
# The old file stays whole until the new one is complete, and in other clones that share it by a hard link.
cp "$work/$name" "node_modules/$file.new"
mv -f "node_modules/$file.new" "node_modules/$file"
"$node" - "$file" <<'PIN'
const { createHash } = require('node:crypto');
const { readFileSync, writeFileSync } = require('node:fs');
const [file] = process.argv.slice(2);
const pinned = JSON.parse(readFileSync('data/binaries.json', 'utf8'));
const of = (pinned[`${process.platform}-${process.arch}`] ??= {});
of[file] = createHash('sha256').update(readFileSync(`node_modules/${file}`)).digest('hex');
writeFileSync('data/binaries.json', `${JSON.stringify(pinned, null, 2)}\n`);
console.log(`${file} is pinned as ${of[file]}`);
PIN
