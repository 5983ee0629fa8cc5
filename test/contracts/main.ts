/**
 * `npm run contracts`: compiles data/contracts/src, writes the artifacts, and measures the gas where anvil runs, unless
 * `--without-gas` says not to. With `--build-info FOLDER` it only writes what analysers read.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { NO_ANVIL } from '../chain/anvil.ts';
import { measureGas, writeGasTable } from '../chain/gas.ts';
import { ChainRig } from '../chain/rig.ts';
import { ARTIFACTS, artifactFile, artifactText, compile, hardhatFiles } from './compile.ts';

const [option, folder] = process.argv.slice(2);
if (option === '--build-info' && folder !== undefined) {
  for (const [name, text] of Object.entries(hardhatFiles())) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
} else await compileAll();

async function compileAll(): Promise<void> {
  const artifacts = compile();
  mkdirSync(ARTIFACTS, { recursive: true });
  for (const artifact of artifacts) writeFileSync(artifactFile(artifact.contract), artifactText(artifact));
  const sizes = artifacts.map(({ contract, bytecode }) => `${contract} ${(bytecode.length - 2) / 2} bytes`);
  process.stdout.write(`data/contracts/artifacts: ${sizes.join(', ')}\n`);
  if (process.argv.includes('--without-gas')) process.stdout.write('gas is not measured\n');
  else if (NO_ANVIL) process.stdout.write(`gas is not measured: ${NO_ANVIL}\n`);
  else {
    const rig = await ChainRig.start();
    try {
      const table = await measureGas(rig);
      writeGasTable(table);
      process.stdout.write(`data/contracts/gas.json: ${JSON.stringify(table, null, 2)}\n`);
    } finally {
      await rig.stop();
    }
  }
}
