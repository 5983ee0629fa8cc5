/** The server process: reads its settings, starts the exchange, prints its URL, and stops in order on a signal. */

import { availableParallelism } from 'node:os';
import { inspect } from 'node:util';
import { systemClock } from '../shared/base/clock.ts';
import { isDamaged } from '../shared/base/damagedDatabase.ts';
import { accessProblemIn } from '../shared/base/fileAccess.ts';
import { binaryProblem } from './base/binaries.ts';
import { ConfigError, EXIT_CONFIG, parseConfig } from './base/config.ts';
import { doubtsAbout } from './base/exposure.ts';
import { createLogger, type Logger, openOutputs } from './base/log.ts';
import { setScavenges } from './base/scavenges.ts';
import { fullDiskAt, StartError } from './base/startError.ts';
import { banner, startingLine } from './wiring/banner.ts';
import { isDemo } from './wiring/demoFile.ts';
import type { Exchange } from './wiring/exchange.ts';

/** sysexits.h EX_SOFTWARE: a thread failed and the journals have to be read again. */
const EXIT_SOFTWARE = 70;
/** sysexits.h EX_TEMPFAIL: a member of a cluster begins anew, as a standby; shared/run.mjs starts it again. */
const EXIT_AGAIN = 75;
const EXIT_FAILURE = 1;
/** Both stay within the 10 s that a supervisor waits before it kills the process. */
const ANSWER_WITHIN_MS = 6000;
const STOP_WITHIN_MS = 9500;

const { out, err } = openOutputs();
let isStopping = false;
/** Known once the settings are read. */
let dataDir: string | null = null;

async function main(): Promise<void> {
  // Files of the exchange are for its own user only.
  process.umask(0o077);
  const processors = availableParallelism();
  setScavenges(processors);
  const settings = parseConfig(process.env, processors);
  dataDir = settings.dataDir;
  const problem = binaryProblem();
  if (problem !== null) throw new ConfigError(problem);
  const log = createLogger(settings.logLevel, out);
  const isTerminal = process.stdout.isTTY === true;
  const starting = startingLine(settings.demo, isTerminal);
  if (starting !== null) out.write(`${starting}\n`);
  // Not before the check: whatever is imported from here on loads packages.
  const { openDemoRamp, startDemoRamp, withDemoRamp } = await import('./wiring/demoRamp.ts');
  const ramp = settings.demo ? await openDemoRamp(settings) : null;
  const config = ramp === null ? settings : withDemoRamp(settings, ramp);
  const demo = config.demo ? await import('./wiring/demo.ts') : null;
  const past = demo?.pastOfDemo(config, log) ?? null;
  const { Exchange } = await import('./wiring/exchange.ts');
  const onFatal = (error: unknown): void => fail(log, error, config.cluster === null ? EXIT_SOFTWARE : EXIT_AGAIN);
  const exchange = await Exchange.start({ config, clock: systemClock, log, lines: out, onFatal, past });
  stopInOrder(exchange, log);
  const opened = (await demo?.openDemo(exchange, log, past)) ?? null;
  const flows = config.demoFlow && opened?.demo.flow !== undefined;
  const { token, isNew } = exchange.stores.control.adminToken;
  const lines = banner({
    baseUrl: exchange.baseUrl,
    operationsUrl: exchange.operationsUrl,
    dataDir: config.dataDir,
    newToken: isNew ? token : null,
    opened,
    flows,
    hasRamp: ramp !== null,
    isTerminal,
  });
  if (lines.length > 0) out.write(`${lines.join('\n')}\n`);
  for (const doubt of doubtsAbout(config, isDemo(config, exchange.stores.isNew))) log.warn(doubt);
  if (ramp !== null) void startDemoRamp(exchange, ramp, log);
  if (flows) (await import('./wiring/demoFlow.ts')).startDemoFlow(opened.path, log);
  log.info(
    {
      host: config.host,
      port: exchange.port,
      ...(exchange.adminPort === null ? {} : { admin_port: exchange.adminPort }),
      shards: exchange.stores.control.shards,
      data_dir: config.dataDir,
    },
    'listening',
  );
}

function stopInOrder(exchange: Exchange, log: Logger): void {
  const stop = async (cause: object, code: number): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    log.info(cause, 'stopping');
    setTimeout(() => {
      log.error('the exchange did not stop in time: it ends now');
      process.exit(EXIT_FAILURE);
    }, STOP_WITHIN_MS).unref();
    await exchange.stop(ANSWER_WITHIN_MS, performance.now() + STOP_WITHIN_MS);
    log.info('stopped');
    process.exit(code);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop({ signal }, 0));
  void exchange.handedOver?.then((to) => stop({ handed_over_to: to }, EXIT_AGAIN));
  // Without files to read again a closed terminal ends the process, as it does by default.
  if (exchange.isReloadable) process.on('SIGHUP', () => void exchange.reload());
}

/** Requests in flight are answered OUTCOME_UNKNOWN; one more turn of the loop sends these answers. */
function fail(log: Logger, error: unknown, code: number): void {
  const access = accessProblemIn(process.env['DATA_DIR'] ?? 'data/live', error);
  const isOfFile = isDamaged(error) || (error instanceof Error && error.message.startsWith('journal '));
  const next =
    access ?? (isOfFile ? 'stop, and see what `npm run admin -- journal verify` says and can mend' : undefined);
  log.fatal({ err: error, ...(next === undefined ? {} : { next }) }, 'a thread failed');
  const isFull = fullDiskAt(dataDir);
  if (isFull !== null) log.fatal(isFull);
  setImmediate(() => process.exit(code));
}

try {
  await main();
} catch (error) {
  // A signal may have interrupted the demo, which is no failure: the stop that is under way ends the process.
  if (!isStopping) explainAndExit(error);
}

function explainAndExit(error: unknown): never {
  const isExplained = error instanceof ConfigError || error instanceof StartError;
  const access = accessProblemIn(process.env['DATA_DIR'] ?? 'data/live', error);
  const text = access ?? (isExplained ? error.message : null);
  err.write(`${text === null ? inspect(error) : `error: ${text}`}\n`);
  const isFull = fullDiskAt(dataDir);
  if (isFull !== null) err.write(`error: ${isFull}\n`);
  process.exit(error instanceof ConfigError ? EXIT_CONFIG : EXIT_FAILURE);
}
