/**
 * `npm run admin`: checks and repairs a data directory, exports its history and audits its money; imports and exports
 * the catalogue of a running exchange. The exit code is 1 when the directory is damaged, out of balance or not what the
 * chain has, or a line of an import has failed, and 64, with the usage, when the command line is not understood.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { systemClock } from '../../shared/base/clock.ts';
import { uuidToBytes } from '../../shared/base/hex.ts';
import { AdminClient } from '../../shared/client/admin.ts';
import { countsText, exportFile, importFile } from '../../shared/client/cli/frame/catalogueFiles.ts';
import { parseMasterKey } from '../../shared/crypto/masterKey.ts';
import { ReplayError } from '../core/engine.ts';
import { JournalError } from '../journal/row.ts';
import { adopt } from './adopt.ts';
import { auditDirectory } from './audit.ts';
import { AuditLogCheck } from './auditLog.ts';
import {
  AdminError,
  isOfMember,
  listShards,
  RunningError,
  requireAlone,
  type ShardFile,
  withExclusiveDirectory,
} from './directory.ts';
import { exportHistory } from './export.ts';
import { forgetHeads, saveHeads, withKnownHeads } from './heads.ts';
import { inspectShard } from './inspect.ts';
import { rotateMasterKey } from './keyRotation.ts';
import { type Plan, planRepair } from './plan.ts';
import { backUp, type RebuildOptions, rebuild, verifyProjections } from './projections.ts';
import { carryOut } from './repair.ts';
import { USAGE } from './usage.ts';
import { describeShards, howToProceed } from './verify.ts';

const OPTIONS = {
  data: { type: 'string' },
  shard: { type: 'string' },
  market: { type: 'string' },
  /** A number, or the name of a file. */
  from: { type: 'string' },
  format: { type: 'string' },
  url: { type: 'string' },
  all: { type: 'boolean' },
  now: { type: 'boolean' },
  'accept-loss': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;
type Options = ReturnType<typeof parse>['values'];
type OptionName = keyof typeof OPTIONS;

const DEFAULT_URL = 'http://127.0.0.1:8080';
const EXIT_WRONG = 1;
const EXIT_USAGE = 64;

class UsageError extends Error {
  override readonly name = 'UsageError';
}

type Command = {
  readonly options: readonly OptionName[];
  /** The name of a file follows the name of the command, or that of a member may. */
  readonly takes?: 'file' | 'member';
  readonly run: (options: Options, argument: string) => Promise<boolean>;
};

const COMMANDS: Record<string, Command> = {
  'journal verify': { options: [], run: verify },
  'journal repair': { options: ['shard', 'accept-loss'], run: repair },
  'journal export': { options: ['market', 'from', 'format'], run: exportJournals },
  'journal adopt': { options: [], run: adoptJournals },
  'projections rebuild': { options: ['from', 'accept-loss'], run: rebuildProjections },
  'projections verify': { options: [], run: checkProjections },
  'projections backup': { options: [], takes: 'file', run: backUpProjections },
  'keys rotate': { options: [], run: rotateKeys },
  audit: { options: [], run: audit },
  'audit-log': { options: ['from'], run: auditLog },
  'chain reconcile': { options: ['all'], run: reconcileWithChain },
  'chain adopt': { options: [], run: adoptOlderSettlement },
  'cluster status': { options: [], run: () => ofCluster((cluster) => cluster.clusterStatus(process.env)) },
  'cluster promote': {
    options: ['now'],
    takes: 'member',
    run: ({ now }, member) => ofCluster((cluster) => cluster.promote(process.env, member || null, now === true)),
  },
  'cluster leave': {
    options: [],
    takes: 'member',
    run: (_, member) => ofCluster((cluster) => cluster.leave(process.env, member)),
  },
  'cluster raise': { options: [], run: () => ofCluster((cluster) => cluster.raiseFormats(process.env)) },
  'cluster doctor': { options: [], run: examineCluster },
  'cluster fence': { options: [], run: () => ofCluster((cluster) => cluster.fenceCluster(process.env)) },
  'catalogue import': { options: ['url'], takes: 'file', run: importCatalogue },
  'catalogue export': { options: ['url'], takes: 'file', run: exportCatalogue },
};

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function run(args: string[]): Promise<boolean> {
  const { values, positionals } = parse(args);
  if (values.help === true) {
    console.log(USAGE);
    return true;
  }
  const named = positionals.slice(0, 2).join(' ');
  const takes = COMMANDS[named]?.takes;
  const [name, argument = ''] = takes === undefined ? [positionals.join(' ')] : [named, positionals[2]];
  const command = COMMANDS[name];
  if (command === undefined) throw new UsageError(name === '' ? 'a command is missing' : `unknown command: ${name}`);
  if (takes === 'file' && (argument === '' || positionals.length > 3)) throw new UsageError(`${name} needs one file`);
  if (takes === 'member' && positionals.length > 3) throw new UsageError(`${name} takes one member`);
  for (const option of Object.keys(values)) {
    const isKnown = option === 'data' || command.options.includes(option as OptionName);
    if (!isKnown) throw new UsageError(`${name} has no option --${option}`);
  }
  return command.run(values, argument);
}

async function verify(options: Options): Promise<boolean> {
  const files = await withKnownHeads(await listShards(dataDir(options)));
  const report = describeShards(files.map(inspectShard));
  console.log(report.text);
  return report.isSound;
}

async function repair(options: Options): Promise<boolean> {
  const directory = dataDir(options);
  const files = await withKnownHeads(await listShards(directory));
  const chosen = chooseShards(files, options.shard);
  return withExclusiveDirectory(directory, (control) => {
    const plans = chosen.map((file) => planRepair(inspectShard(file))).filter(isNeeded);
    // All or nothing: a partly repaired directory is harder to judge than a damaged one.
    const refused = plans.find((plan) => plan.hopeless !== null || (plan.needsConsent && !options['accept-loss']));
    if (refused !== undefined) {
      console.log(`problem: ${refused.findings.problem?.text}`);
      for (const line of howToProceed(refused)) console.log(line);
      return false;
    }
    const time = timeOfNames();
    const shortened = plans.filter(({ needsConsent }) => needsConsent).map(({ findings }) => findings.file);
    if (control !== null && shortened.length > 0) forgetHeads(control, files, shortened);
    for (const plan of plans) {
      for (const effect of plan.effects) console.log(`shard ${plan.findings.file.shard}: ${effect}`);
      carryOut(plan, time);
    }
    if (control !== null && shortened.length > 0) saveHeads(control, files, shortened);
    if (plans.length === 0) console.log('nothing to repair');
    else console.log(`what was replaced has the end .damaged-${time}`);
    const isShortened = (file: ShardFile): boolean => shortened.includes(file);
    const report = describeShards(
      chosen.map((file) => inspectShard(isShortened(file) ? { ...file, known: undefined } : file)),
    );
    console.log(report.text);
    return report.isSound;
  });
}

async function exportJournals(options: Options): Promise<boolean> {
  const market = options.market?.toLowerCase() ?? null;
  if (market !== null && !uuidToBytes(market, new Uint8Array(16), 0)) throw new UsageError('--market: not a UUID');
  if (options.format !== undefined && options.format !== 'ndjson') throw new UsageError('--format: only ndjson');
  const from = integerOf('from', options.from, 1) ?? 1;
  const chunks = exportHistory(await listShards(dataDir(options)), { market, from });
  await print(chunks);
  return true;
}

async function audit(options: Options): Promise<boolean> {
  const directory = dataDir(options);
  const files = await listShards(directory);
  const report = (control: Database.Database | null): boolean => {
    const { text, isBalanced } = auditDirectory(files, control);
    console.log(text);
    return isBalanced;
  };
  try {
    return await withExclusiveDirectory(directory, report);
  } catch (error) {
    if (!(error instanceof RunningError)) throw error;
    return report(null);
  }
}

async function adoptJournals(options: Options): Promise<boolean> {
  const directory = dataDir(options);
  return withExclusiveDirectory(directory, async (control) => {
    if (control === null) throw new AdminError(`${directory}: control.db is missing: put it back`);
    requireAlone(control, directory, 'its journals have the key of all members: put back journal.key of any of them');
    const { files, lines } = await adopt(directory);
    saveHeads(control, files, files);
    for (const line of lines) console.log(line);
    const { text, isBalanced } = auditDirectory(files, control);
    console.log(text);
    return isBalanced;
  });
}

async function rebuildProjections(options: Options): Promise<boolean> {
  const directory = dataDir(options);
  const files = await listShards(directory);
  return withExclusiveDirectory(directory, () => rebuild(files, projectionOptions(options)));
}

async function checkProjections(options: Options): Promise<boolean> {
  const directory = dataDir(options);
  const files = await listShards(directory);
  return withExclusiveDirectory(directory, () => verifyProjections(files, projectionOptions(options)));
}

async function backUpProjections(options: Options, file: string): Promise<boolean> {
  return backUp(dataDir(options), file, (line) => console.log(line));
}

function projectionOptions(options: Options): RebuildOptions {
  return {
    from: options.from,
    acceptLoss: options['accept-loss'] === true,
    time: timeOfNames(),
    nowMs: () => systemClock.nowMs(),
    print: (line) => console.log(line),
  };
}

function timeOfNames(): string {
  return new Date(systemClock.nowMs()).toISOString().replace(/[-:]|\.\d+/g, '');
}

async function rotateKeys(options: Options): Promise<boolean> {
  const directory = dataDir(options);
  return withExclusiveDirectory(directory, async (control) => {
    if (control === null) throw new AdminError(`${directory}: control.db is missing: put it back`);
    const keys = { given: masterKeyFrom('MASTER_KEY'), next: masterKeyFrom('NEW_MASTER_KEY') };
    const lines = isOfMember(control)
      ? (await import('./cluster.ts')).rotateKeys(process.env, directory, control, keys)
      : rotateMasterKey(directory, control, keys);
    for (const line of await lines) console.log(line);
    return true;
  });
}

/** Null when the variable is not set. */
function masterKeyFrom(variable: string): Uint8Array | null {
  const text = (process.env[variable] ?? '').trim();
  const key = text === '' ? null : parseMasterKey(text);
  if (text !== '' && key === null) throw new AdminError(`${variable}: not a master key`);
  return key;
}

async function auditLog(options: Options): Promise<boolean> {
  const check = await AuditLogCheck.of(dataDir(options));
  await print(check.lines(integerOf('from', options.from, 1) ?? 1));
  const { lines, isSound } = check.report();
  for (const line of lines) console.error(line);
  return isSound;
}

/** The driver of the database takes a while to load, and only these commands need it. */
async function ofCluster(ask: (cluster: typeof import('./cluster.ts')) => Promise<string[]>): Promise<boolean> {
  console.log((await ask(await import('./cluster.ts'))).join('\n'));
  return true;
}

async function examineCluster(): Promise<boolean> {
  const { examine } = await import('./clusterDoctor.ts');
  const { lines, isWell } = await examine(process.env, systemClock);
  console.log(lines.join('\n'));
  return isWell;
}

async function reconcileWithChain(options: Options): Promise<boolean> {
  // The code for a chain takes a while to load, and only this command needs it.
  const { reconcileChain } = await import('./chain.ts');
  const rpcUrl = (process.env['RPC_URL'] ?? '').trim();
  const { lines, isEqual } = await reconcileChain(dataDir(options), rpcUrl, options.all === true);
  await print(lines.map((line) => `${line}\n`));
  return isEqual;
}

async function adoptOlderSettlement(options: Options): Promise<boolean> {
  const { adoptSettlement } = await import('./adoptSettlement.ts');
  const lines = await adoptSettlement(dataDir(options), (process.env['RPC_URL'] ?? '').trim());
  for (const line of lines) console.log(line);
  return true;
}

async function importCatalogue(options: Options, file: string): Promise<boolean> {
  const { counts, lines } = await explained(importFile(administratorOf(options), file, process.stdin, process.stderr));
  console.log(countsText(lines, counts));
  return counts.failed === 0;
}

async function exportCatalogue(options: Options, file: string): Promise<boolean> {
  await explained(exportFile(administratorOf(options), file, process.stdout));
  return true;
}

function administratorOf(options: Options): AdminClient {
  const baseUrl = options.url ?? process.env['BASE_URL'] ?? DEFAULT_URL;
  if (!URL.canParse(baseUrl)) throw new UsageError('--url: not a URL');
  const path = join(dataDir(options), 'admin.token');
  const given = process.env['ADMIN_TOKEN'] ?? '';
  const token = given === '' && existsSync(path) ? readFileSync(path, 'utf8').trim() : given;
  if (token === '') throw new AdminError(`no token: set ADMIN_TOKEN (there is no ${path})`);
  return new AdminClient({ baseUrl, token });
}

/** A refusal and a file or exchange that is not there are no bugs. */
async function explained<T>(done: Promise<T>): Promise<T> {
  try {
    return await done;
  } catch (error) {
    const { name, message, code, cause } = error as Error & { code?: string };
    const isKnown = name === 'ApiError' || name === 'TimeoutError' || code !== undefined || cause !== undefined;
    if (!isKnown) throw error;
    throw new AdminError(cause instanceof Error ? `${message}: ${cause.message}` : message);
  }
}

async function print(chunks: Iterable<string> | AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(chunks), process.stdout, { end: false });
  } catch (error) {
    // The reader has closed the pipe, as `| head` does after a few lines.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

function dataDir(options: Options): string {
  return options.data ?? process.env['DATA_DIR'] ?? 'data/live';
}

function chooseShards(files: readonly ShardFile[], wanted: string | undefined): readonly ShardFile[] {
  const shard = integerOf('shard', wanted, 0);
  if (shard === null) return files;
  const file = files[shard];
  if (file === undefined) throw new UsageError(`--shard: there are ${files.length}, 0 to ${files.length - 1}`);
  return [file];
}

function integerOf(option: OptionName, text: string | undefined, least: number): number | null {
  if (text === undefined) return null;
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : -1;
  if (value < least) throw new UsageError(`--${option}: expected a number from ${least} on`);
  return value;
}

function isNeeded({ hopeless, effects }: Plan): boolean {
  return hopeless !== null || effects.length > 0;
}

/** Errors about the files or the command are printed as one line. Any other error is a bug and is printed whole. */
function isExplained(error: unknown): error is Error {
  return [AdminError, JournalError, ReplayError, Database.SqliteError].some((kind) => error instanceof kind);
}

process.umask(0o077);
try {
  process.exitCode = (await run(process.argv.slice(2))) ? 0 : EXIT_WRONG;
} catch (error) {
  if (error instanceof UsageError) {
    console.error(`error: ${error.message}\n\n${USAGE}`);
    process.exitCode = EXIT_USAGE;
  } else {
    console.error(isExplained(error) ? `error: ${error.message}` : error);
    process.exitCode = EXIT_WRONG;
  }
}
