/**
 * A server whose output goes through a pipe that another process reads, which a test can stop or kill; and which
 * writes as many lines of the log as a test asks for.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from './directory.ts';
import { type Scope, TestServer } from './server.ts';

const FLOOD = fileURLToPath(new URL('./logFlood.mjs', import.meta.url));
/** The shell of `slow` reads a byte at a time, some hundred kilobytes in a second. */
const READERS = { cat: 'exec cat', slow: 'while IFS= read -r line; do printf "%s\\n" "$line"; done' } as const;
/** The message of each line of the flood. */
const FLOOD_TEXT = 'the new administrator token could not be used: the old one stays';

export class ReadServer {
  readonly server: TestServer;
  #reader = 0;

  private constructor(dataDir: string) {
    this.server = new TestServer(dataDir, '1');
  }

  static async start(scope: Scope, floodLines: number, reader: keyof typeof READERS = 'cat'): Promise<ReadServer> {
    const directory = temporaryDirectory();
    const read = new ReadServer(join(directory, 'live'));
    scope.after(async () => {
      // A stopped reader would keep the end of the pipe open.
      if (read.#reader !== 0) read.signalReader('SIGCONT');
      await read.server.kill();
    });
    const tokenFile = join(directory, 'admin.token');
    writeFileSync(tokenFile, read.server.adminToken);
    const env = {
      ADMIN_TOKEN: '',
      ADMIN_TOKEN_FILE: tokenFile,
      LOG_FLOOD_LINES: String(floodLines),
      NODE_OPTIONS: `--import=${FLOOD}`,
    };
    // Becomes the server, with the reader as its child.
    await read.server.start(env, ['bash', '-c', `exec "$@" > >(${READERS[reader]}) 2>&1`, 'bash']);
    rmSync(tokenFile);
    read.#reader = readerOf(read.server.pid!);
    return read;
  }

  /** The server begins to write its lines. */
  flood(): void {
    process.kill(this.server.pid!, 'SIGUSR2');
  }

  signalReader(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    try {
      process.kill(this.#reader, signal);
    } catch {
      // It has ended.
    }
  }

  /** Lines of all floods that were printed, plus the missing ones that the log reports. */
  accountedFor(): number {
    let lines = 0;
    for (const line of this.server.stdout) {
      if (line.includes(FLOOD_TEXT)) lines++;
      else lines += Number(/"lines":(\d+)/.exec(line)?.[1] ?? 0);
    }
    return lines;
  }

  /** Lines of the log that were dropped, as the metric says. */
  async dropped(): Promise<number> {
    const text = await (await fetch(`${this.server.baseUrl}/metrics`)).text();
    return Number(/^exchange_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
  }
}

function readerOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  const reader = children.find((child) => ['cat', 'bash'].includes(readFileSync(`/proc/${child}/comm`, 'utf8').trim()));
  if (reader === undefined) throw new Error('nobody reads the output of the server');
  return reader;
}
