/**
 * `npm run admin`: checks and repairs a data directory, exports its history and audits its money. The exit code is 1 if
 * the directory is damaged, out of balance or different from the chain, and 64, with the usage, if the command line is
 * not understood. (`pmx admin` talks to a running exchange over HTTP.)
 *
 * A process (main.ts) or a test supplies the environment. Only the MASTER_KEY for records always comes from the
 * process.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { inspect } from 'node:util';
import Database from 'better-sqlite3';
import { systemClock } from '../../shared/base/clock.ts';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { isOfMember } from '../../shared/base/directoryVersion.ts';
import { accessProblemIn, asOwner } from '../../shared/base/fileAccess.ts';
import { freeTime } from '../../shared/base/freeName.ts';
import { uuidToBytes } from '../../shared/base/hex.ts';
import { ServiceError } from '../../shared/base/serviceFile.ts';
import { errorCode } from '../../shared/base/thrown.ts';
import { IN_FILE, parseMasterKey } from '../../shared/crypto/masterKey.ts';
import { ReplayError } from '../core/engine.ts';
import { JournalError } from '../journal/row.ts';
import { adopt } from './adopt.ts';
import { auditDirectory } from './audit.ts';
import { auditCuts } from './auditCuts.ts';
import { AuditLogCheck } from './auditLog.ts';
import { backUp, drill, ofBackups, restore } from './backups.ts';
import { repair, repairControlDatabase, verify } from './checks.ts';
import {
  type Call,
  type Command,
  dataDir,
  integerOf,
  nameOf,
  type OptionName,
  parse,
  print,
  type Surroundings,
  UsageError,
} from './commandLine.ts';
import {
  AdminError,
  listShards,
  RunningError,
  requireAlone,
  withDirectoryToRead,
  withExclusiveDirectory,
} from './directory.ts';
import { exportHistory } from './export.ts';
import { saveHeads } from './heads.ts';
import { rotateMasterKey } from './keyRotation.ts';
import { listPoints, verifyPoints } from './points.ts';
import { backUp as backUpReadDb, type RebuildOptions, rebuild, verifyProjections } from './projections.ts';
import { becomeOwner, environmentFor } from './service.ts';
import { USAGE } from './usage.ts';

const OF_EVERY_COMMAND = ['data', 'service'];
const EXIT_WRONG = 1;
const EXIT_USAGE = 64;

const COMMANDS: Record<string, Command> = {
  'journal verify': { options: [], run: verify },
  'journal repair': { options: ['shard', 'accept-loss'], writes: true, run: repair },
  'journal export': { options: ['market', 'from', 'format'], run: exportJournals },
  'journal adopt': { options: [], writes: true, run: adoptJournals },
  'control repair': { options: ['accept-loss'], writes: true, run: repairControlDatabase },
  'projections rebuild': { options: ['from', 'accept-loss'], writes: true, run: rebuildProjections },
  'projections verify': { options: [], run: checkProjections },
  'projections backup': { options: [], takes: 'file', run: backUpProjections },
  backup: { options: ['rate', 'leave-out', 'prune'], takes: 'folder', writes: true, run: ofBackups(backUp) },
  'backups list': { options: [], takes: 'folder', run: ofBackups(listPoints) },
  'backups verify': { options: [], takes: 'folder', run: ofBackups(verifyPoints) },
  'backups drill': { options: [], takes: 'folder', run: ofBackups(drill) },
  restore: {
    options: ['to', 'point', 'as-it-was', 'set-aside', 'leave-out'],
    takes: 'folder',
    run: ofBackups(restore),
  },
  'history write': { options: [], takes: 'folder', run: writeHistoryOf },
  'keys rotate': { options: [], writes: true, run: rotateKeys },
  reshard: { options: [], takes: 'number', writes: true, run: reshardDirectory },
  audit: { options: [], run: audit },
  'audit-log': { options: ['from'], run: auditLog },
  'chain reconcile': { options: ['all'], run: reconcileWithChain },
  'chain adopt': { options: [], writes: true, run: adoptOlderSettlement },
  'cluster status': { options: [], run: (call) => ofCluster(call, (cluster) => cluster.clusterStatus(call.env)) },
  'cluster promote': {
    options: ['now'],
    takes: 'member',
    run: (call) =>
      ofCluster(call, (cluster) => cluster.promote(call.env, call.argument || null, call.options.now === true)),
  },
  'cluster leave': {
    options: [],
    takes: 'member',
    run: (call) => ofCluster(call, (cluster) => cluster.leave(call.env, call.argument)),
  },
  'cluster found': { options: ['without', 'new'], takes: 'member', run: (call) => foundFrom(call, false) },
  'cluster refill': { options: ['without'], takes: 'member', run: (call) => foundFrom(call, true) },
  'cluster accept-loss': {
    options: ['count'],
    writes: true,
    run: (call) =>
      ofCluster(call, (cluster) => {
        return cluster.giveUp(call.env, dataDir(call), integerOf('count', call.options.count, 0) ?? null);
      }),
  },
  'cluster raise': { options: [], run: (call) => ofCluster(call, (cluster) => cluster.raiseFormats(call.env)) },
  'cluster doctor': { options: [], run: examineCluster },
  'cluster fence': { options: [], run: (call) => ofCluster(call, (cluster) => cluster.fenceCluster(call.env)) },
};

/** @returns the exit code */
export async function runAdmin(args: string[], surroundings: Surroundings): Promise<number> {
  try {
    return (await run(args, surroundings)) ? 0 : EXIT_WRONG;
  } catch (error) {
    const isUsage = error instanceof UsageError;
    const explained = isUsage ? error.message : explanationOf(error, directoryOf(args, surroundings));
    const text = explained === null ? inspect(error) : `error: ${explained}`;
    surroundings.err.write(isUsage ? `error: ${error.message}\n\n${USAGE}\n` : `${text}\n`);
    return isUsage ? EXIT_USAGE : EXIT_WRONG;
  }
}

/** Explains an error in one line, with the next step; null if the error is a bug. */
function explanationOf(error: unknown, directory: string): string | null {
  const access = accessProblemIn(directory, error);
  if (access !== null) return access;
  if (!isExplained(error)) return null;
  const isOfFile = error instanceof JournalError || isDamaged(error);
  const next = ': `npm run admin -- journal verify` says what is damaged and what helps';
  return error.message + (isOfFile && !error.message.includes('npm run admin') ? next : '');
}

function directoryOf(args: string[], surroundings: Surroundings): string {
  const env = { ...process.env, ...surroundings.env };
  return dataDir({ ...surroundings, env, options: parse(args).values, argument: '' });
}

async function run(args: string[], surroundings: Surroundings): Promise<boolean> {
  const { values, positionals } = parse(args);
  if (values.help === true) {
    print(surroundings, USAGE);
    return true;
  }
  const { name, argument, rest } = nameOf(COMMANDS, positionals);
  const command = COMMANDS[name];
  if (command === undefined) throw new UsageError(name === '' ? 'a command is missing' : `unknown command: ${name}`);
  const { takes } = command;
  if (takes === 'member' && rest > 0) throw new UsageError(`${name} takes one member`);
  if (takes !== undefined && takes !== 'member' && (argument === '' || rest > 0)) {
    throw new UsageError(`${name} needs one ${takes}`);
  }
  for (const option of Object.keys(values)) {
    const isKnown = OF_EVERY_COMMAND.includes(option) || command.options.includes(option as OptionName);
    if (!isKnown) throw new UsageError(`${name} has no option --${option}`);
  }
  const env = environmentFor(values, surroundings.env);
  const call = { ...surroundings, env, options: values, argument };
  if (env !== surroundings.env) {
    // Records are checked with the key of the process's environment.
    Object.assign(process.env, env);
    surroundings.err.write(`data directory ${dataDir(call)}\n`);
    if (command.writes === true) becomeOwner(dataDir(call));
  }
  const owner = command.writes === true ? asOwner(dataDir(call)) : null;
  if (owner !== null) {
    throw new AdminError(
      `${dataDir(call)} is another user's: run it as \`${owner} npm run admin -- ${args.join(' ')}\``,
    );
  }
  return command.run(call);
}

async function exportJournals(call: Call): Promise<boolean> {
  const { options } = call;
  const market = options.market?.toLowerCase() ?? null;
  if (market !== null && !uuidToBytes(market, new Uint8Array(16), 0)) throw new UsageError('--market: not a UUID');
  if (options.format !== undefined && options.format !== 'ndjson') throw new UsageError('--format: only ndjson');
  const from = integerOf('from', options.from, 1) ?? 1;
  const chunks = exportHistory(await listShards(dataDir(call)), { market, from });
  await printAll(call, chunks);
  return true;
}

async function writeHistoryOf(call: Call): Promise<boolean> {
  const { writeHistory } = await import('./publicHistory.ts');
  const directory = dataDir(call);
  const days = await writeHistory(await listShards(directory), call.argument, systemClock.nowMs());
  for (const day of days) print(call, `${day} written to ${join(call.argument, day)}`);
  return true;
}

async function audit(call: Call): Promise<boolean> {
  const directory = dataDir(call);
  const files = await listShards(directory);
  const report = async (control: Database.Database | null): Promise<boolean> => {
    const cuts = control === null ? null : await auditCuts(files, control);
    for (const line of cuts?.lines ?? []) print(call, line);
    const { text, isBalanced } = auditDirectory(files, control);
    print(call, text);
    return isBalanced && cuts?.isBalanced !== false;
  };
  if (!existsSync(join(directory, 'control.db'))) {
    throw new AdminError(
      `${directory}/control.db is missing: put it back, or restore the data directory from a backup`,
    );
  }
  try {
    return await withDirectoryToRead(directory, report);
  } catch (error) {
    if (!(error instanceof RunningError)) throw error;
    return report(null);
  }
}

async function adoptJournals(call: Call): Promise<boolean> {
  const directory = dataDir(call);
  return withExclusiveDirectory(directory, async (control) => {
    if (control === null) throw new AdminError(`${directory}: control.db is missing: put it back`);
    requireAlone(control, directory, 'its journals have the key of all members: put back journal.key of any of them');
    const { files, lines } = await adopt(directory);
    saveHeads(control, files, files);
    for (const line of lines) print(call, line);
    const { text, isBalanced } = auditDirectory(files, control);
    print(call, text);
    return isBalanced;
  });
}

async function rebuildProjections(call: Call): Promise<boolean> {
  const directory = dataDir(call);
  const files = await listShards(directory);
  return withExclusiveDirectory(directory, () => rebuild(files, projectionOptions(call)));
}

async function checkProjections(call: Call): Promise<boolean> {
  const directory = dataDir(call);
  const files = await listShards(directory);
  return withDirectoryToRead(directory, () => verifyProjections(files, projectionOptions(call)));
}

async function backUpProjections(call: Call): Promise<boolean> {
  return backUpReadDb(dataDir(call), call.argument, (line) => print(call, line));
}

function projectionOptions(call: Call): RebuildOptions {
  return {
    from: call.options.from,
    acceptLoss: call.options['accept-loss'] === true,
    time: freeTime(dataDir(call)),
    nowMs: () => systemClock.nowMs(),
    print: (line) => print(call, line),
  };
}

async function rotateKeys(call: Call): Promise<boolean> {
  const directory = dataDir(call);
  return withExclusiveDirectory(directory, async (control) => {
    if (control === null) throw new AdminError(`${directory}: control.db is missing: put it back`);
    const keys = { given: masterKeyFrom(call, 'MASTER_KEY'), next: masterKeyFrom(call, 'NEW_MASTER_KEY') };
    const lines = isOfMember(control)
      ? (await import('./cluster.ts')).rotateKeys(call.env, directory, control, keys)
      : rotateMasterKey(directory, control, keys);
    for (const line of await lines) print(call, line);
    return true;
  });
}

/** Null if the variable is not set. */
function masterKeyFrom({ env }: Call, variable: string): Uint8Array | null {
  const given = (env[variable] ?? '').trim();
  const text = variable === 'MASTER_KEY' && given === IN_FILE ? '' : given;
  const key = text === '' ? null : parseMasterKey(text);
  if (text !== '' && key === null) throw new AdminError(`${variable}: not a master key`);
  return key;
}

async function reshardDirectory(call: Call): Promise<boolean> {
  const { reshard } = await import('./reshard.ts');
  const shards = /^[0-9]{1,3}$/.test(call.argument) ? Number(call.argument) : 0;
  if (shards === 0) throw new UsageError('reshard: a number of shards, from 1 on');
  if ((call.env['HISTORY_DIR'] ?? '').trim() !== '')
    throw new AdminError(
      'HISTORY_DIR: the number of shards of an exchange with a public history cannot be changed yet',
    );
  await reshard(dataDir(call), shards, (line) => print(call, line), systemClock.nowMs());
  return true;
}

async function auditLog(call: Call): Promise<boolean> {
  const check = await AuditLogCheck.of(dataDir(call));
  await printAll(call, check.lines(integerOf('from', call.options.from, 1) ?? 1));
  const { lines, isSound } = check.report();
  for (const line of lines) call.err.write(`${line}\n`);
  return isSound;
}

/** The database driver takes a while to load, and only these commands need it. */
async function ofCluster(
  call: Call,
  ask: (cluster: typeof import('./cluster.ts')) => Promise<string[]>,
): Promise<boolean> {
  print(call, (await ask(await import('./cluster.ts'))).join('\n'));
  return true;
}

function foundFrom(call: Call, isRefill: boolean): Promise<boolean> {
  const { without = [], new: isNew = false } = call.options;
  if (isNew && (call.argument !== '' || without.length > 0))
    throw new UsageError('cluster found --new takes no member');
  if (isNew) return ofCluster(call, (cluster) => cluster.foundEmpty(call.env));
  return ofCluster(call, (cluster) => cluster.found(call.env, call.argument, without, isRefill));
}

async function examineCluster(call: Call): Promise<boolean> {
  const { examine } = await import('./clusterDoctor.ts');
  const { lines, isWell } = await examine(call.env, systemClock);
  print(call, lines.join('\n'));
  return isWell;
}

async function reconcileWithChain(call: Call): Promise<boolean> {
  // The code for a chain takes a while to load, and only this command needs it.
  const { reconcileChain } = await import('./chain.ts');
  const rpcUrl = (call.env['RPC_URL'] ?? '').trim();
  const { lines, isEqual } = await reconcileChain(dataDir(call), rpcUrl, call.options.all === true);
  await printAll(
    call,
    lines.map((line) => `${line}\n`),
  );
  return isEqual;
}

async function adoptOlderSettlement(call: Call): Promise<boolean> {
  const { adoptSettlement } = await import('./adoptSettlement.ts');
  const lines = await adoptSettlement(dataDir(call), (call.env['RPC_URL'] ?? '').trim());
  for (const line of lines) print(call, line);
  return true;
}

async function printAll({ out }: Surroundings, chunks: Iterable<string> | AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(chunks), out, { end: false });
  } catch (error) {
    // The reader has closed the pipe, as `| head` does after a few lines.
    if (errorCode(error) !== 'EPIPE') throw error;
  }
}

/**
 * True for errors about the files or the command: they are printed as one line. Any other error is a bug and is printed
 * whole.
 */
function isExplained(error: unknown): error is Error {
  return [AdminError, JournalError, ReplayError, ServiceError, Database.SqliteError].some(
    (kind) => error instanceof kind,
  );
}
