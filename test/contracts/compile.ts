/**
 * The compiler of data/contracts/src: pinned version, pinned settings, no network. An artifact carries the hash of
 * everything from which it was compiled, so that an artifact older than its source is noticed without compiling.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const SOURCES = join(PROJECT, 'data/contracts/src');
export const REVIEW_FILE = join(PROJECT, 'data/contracts/REVIEW.md');
export const ARTIFACTS = join(PROJECT, 'data/contracts/artifacts');
const SOLC_VERSION = '0.8.37';
const require = createRequire(import.meta.url);

/** cancun is what Polygon runs, and has the transient storage of the reentrancy guard. */
const SETTINGS = {
  evmVersion: 'cancun',
  viaIR: true,
  optimizer: { enabled: true, runs: 1500 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
} as const;

/** The contracts with an artifact; of an interface it has the ABI alone. */
export const CONTRACTS = [
  'Exchange',
  'MarketFactory',
  'Resolutions',
  'Payments',
  'DemoUsdc',
  'IConditionalTokens',
] as const;
export type ContractName = (typeof CONTRACTS)[number];

type Artifact = {
  readonly contract: string;
  readonly compiler: string;
  /** SHA-256 of the compiler's version, its settings and every source file. */
  readonly sourceHash: string;
  readonly bytecodeHash: string;
  readonly abi: readonly unknown[];
  readonly bytecode: `0x${string}`;
};

type SourceFiles = Record<string, { content: string }>;
type Output = {
  readonly errors?: readonly {
    readonly severity: string;
    readonly formattedMessage: string;
    readonly sourceLocation?: { readonly file: string };
  }[];
  readonly contracts: Record<
    string,
    Record<
      string,
      {
        readonly abi: readonly unknown[];
        readonly evm: {
          readonly bytecode: { readonly object: string };
          readonly deployedBytecode: { readonly object: string };
        };
      }
    >
  >;
};

/** The sources and all that they import, by the names under which they are imported. */
export function sourceFiles(): SourceFiles {
  const files: SourceFiles = {};
  const open = readdirSync(SOURCES)
    .filter((name) => name.endsWith('.sol'))
    .toSorted();
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (files[name] !== undefined) continue;
    const content = readFileSync(pathOf(name), 'utf8');
    files[name] = { content };
    for (const [, imported] of content.matchAll(/^import[^;]*?"([^"]+)";/gm)) {
      open.push(imported.startsWith('.') ? posix.join(posix.dirname(name), imported) : imported);
    }
  }
  return Object.fromEntries(Object.entries(files).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function pathOf(name: string): string {
  return name.startsWith('@') ? join(PROJECT, 'node_modules', name) : join(SOURCES, name);
}

/** The hash of everything that decides the compiler's output. */
export function sourceHash(files: SourceFiles = sourceFiles()): string {
  const input = JSON.stringify([
    SOLC_VERSION,
    SETTINGS,
    Object.entries(files).map(([name, { content }]) => [name, content]),
  ]);
  return createHash('sha256').update(input).digest('hex');
}

/** Compiles everything; throws on a warning about the project's sources as on an error. Takes about ten seconds. */
export function compile(): Artifact[] {
  const files = sourceFiles();
  const solc = require('solc') as { version(): string; compile(input: string): string };
  if (!solc.version().startsWith(`${SOLC_VERSION}+`)) throw new Error(`solc is ${solc.version()}, not ${SOLC_VERSION}`);
  const input = JSON.stringify({ language: 'Solidity', sources: files, settings: SETTINGS });
  const output = JSON.parse(solc.compile(input)) as Output;
  const messages = (output.errors ?? [])
    .filter(({ severity, sourceLocation }) => severity === 'error' || sourceLocation?.file.startsWith('@') !== true)
    .map(({ formattedMessage }) => formattedMessage);
  if (messages.length > 0) throw new Error(messages.join('\n'));
  return CONTRACTS.map((contract) => {
    const { abi, evm } = output.contracts[`${contract}.sol`][contract];
    if (evm.deployedBytecode.object.length > 2 * MOST_CODE_BYTES)
      throw new Error(`${contract} is too large for a chain`);
    return {
      contract,
      compiler: solc.version(),
      sourceHash: sourceHash(files),
      bytecodeHash: createHash('sha256').update(evm.bytecode.object).digest('hex'),
      abi,
      bytecode: `0x${evm.bytecode.object}` as const,
    };
  });
}

/** EIP-170. */
const MOST_CODE_BYTES = 24_576;

/** All files of a folder that analysers read as one of Hardhat: the sources, and what the compiler makes of them. */
export function hardhatFiles(): Record<string, string> {
  const outputs = ['abi', 'evm.bytecode', 'evm.deployedBytecode', 'evm.methodIdentifiers', 'userdoc', 'devdoc'];
  const outputSelection = { '*': { '*': outputs, '': ['ast'] } };
  const sources = sourceFiles();
  const input = { language: 'Solidity', sources, settings: { ...SETTINGS, outputSelection } };
  const solc = require('solc') as { compile(input: string): string };
  const output: unknown = JSON.parse(solc.compile(JSON.stringify(input)));
  const versions = { solcVersion: SOLC_VERSION, solcLongVersion: SOLC_VERSION };
  const build = { id: 'build', _format: 'hh-sol-build-info-1', ...versions, input, output };
  return {
    'hardhat.config.js': 'module.exports = {};\n',
    'artifacts/build-info/build.json': JSON.stringify(build),
    ...Object.fromEntries(Object.entries(sources).map(([name, { content }]) => [name, content])),
  };
}

export function artifactFile(contract: string): string {
  return join(ARTIFACTS, `${contract}.json`);
}

/** An element of the ABI is one line, so that a diff shows which elements have changed. */
export function artifactText({ abi, ...rest }: Artifact): string {
  const elements = abi.map((element) => JSON.stringify(element)).join(',\n');
  return `${JSON.stringify(rest, null, 1).slice(0, -2)},\n "abi": [\n${elements}\n]}\n`;
}

/** The committed artifact of a contract. */
export function readArtifact(contract: ContractName): Artifact {
  const file = artifactFile(contract);
  if (!existsSync(file)) throw new Error(`${file} is missing: npm run contracts`);
  return JSON.parse(readFileSync(file, 'utf8')) as Artifact;
}
