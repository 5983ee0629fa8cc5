/**
 * The two algorithms of hash-wasm that are used here, each from a file of its own: the package's main file embeds some
 * twenty more. They are loaded with `require`, because if a CommonJS file is imported, Node searches it for the names
 * of its exports. For these files, which are nearly all WebAssembly text, this would cost a thread 30 ms of its start.
 * For Node only.
 */
import { createRequire } from 'node:module';

type HashWasm = typeof import('hash-wasm');

const require = createRequire(import.meta.url);

export const createKeccak: HashWasm['createKeccak'] = (bits) =>
  require('hash-wasm/dist/keccak.umd.min.js').createKeccak(bits);

export const createBLAKE3: HashWasm['createBLAKE3'] = (bits, key) =>
  require('hash-wasm/dist/blake3.umd.min.js').createBLAKE3(bits, key);
