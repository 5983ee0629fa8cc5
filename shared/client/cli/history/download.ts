/**
 * Downloads files of the public history. A file has its name once its SHA-256 is that of the manifest; until then it is
 * a part, which the next try, or the next run of the program, goes on with.
 *
 * Invariant:
 *   DOWNLOAD-1  Nothing is written outside of the folder of the day, whatever a manifest says.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import {
  HISTORY_FORMATS,
  HISTORY_TABLE_NAMES,
  type HistoryFile,
  type HistoryManifest,
  historyPath,
} from '../../../base/historyTables.ts';
import type { HistoryClient } from '../../history/historyClient.ts';
import { ApiError } from '../../http.ts';

type Downloaded = {
  readonly day: string;
  readonly files: number;
  readonly bytes: number;
  readonly there: number;
};

const MARKET_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Tries of a file without a byte of progress. */
const TRIES = 5;
const SECOND_MS = 1000;

/** @returns `files` that were fetched, their `bytes`, and how many were `there` already */
export async function downloadDay(
  history: HistoryClient,
  day: string,
  folder: string,
  isWanted: (file: HistoryFile) => boolean,
): Promise<Downloaded> {
  const target = join(folder, day);
  mkdirSync(target, { recursive: true });
  const text = await patiently(async () => Buffer.concat(await chunksOf(await history.open(day, null))));
  const manifest: HistoryManifest = JSON.parse(text.toString());
  if (manifest.day !== day) throw new Error(`the manifest of ${day} says that it is of ${manifest.day}`);
  const done = { files: 0, bytes: 0, there: 0 };
  for (const file of manifest.files) {
    checkPath(file);
    if (!isWanted(file)) continue;
    const path = join(target, file.path);
    if (existsSync(path) && (await sumOf(path)) === file.sha256) {
      done.there++;
      continue;
    }
    mkdirSync(dirname(path), { recursive: true });
    await fetchFile(history, day, file, path);
    done.files++;
    done.bytes += file.bytes;
  }
  await writeFile(join(target, 'manifest.json.part'), text);
  renameSync(join(target, 'manifest.json.part'), join(target, 'manifest.json'));
  return { day, ...done };
}

/** DOWNLOAD-1. */
function checkPath({ table, format, market_id, path }: HistoryFile): void {
  const isKnown = HISTORY_TABLE_NAMES.includes(table) && HISTORY_FORMATS.includes(format);
  const isOfMarket = market_id === null || MARKET_ID.test(market_id);
  if (!isKnown || !isOfMarket || path !== historyPath(table, format, market_id)) {
    throw new Error(`the manifest has a file that is none of a history: ${path}`);
  }
}

async function fetchFile(history: HistoryClient, day: string, file: HistoryFile, path: string): Promise<void> {
  const part = `${path}.part`;
  let isAnew = false;
  for (let tries = 0; ; ) {
    const before = bytesOf(part);
    if (before > file.bytes) rmSync(part);
    if (before < file.bytes || before === 0) {
      const failed = await appendRest(history, day, file.path, part).catch((error: unknown) => ({ error }));
      if (failed !== undefined && bytesOf(part) < file.bytes) {
        tries = bytesOf(part) > before ? 0 : tries + 1;
        if (tries === TRIES || failed.error instanceof ApiError) throw failed.error;
        await delay(SECOND_MS);
        continue;
      }
    }
    if (bytesOf(part) === file.bytes && (await sumOf(part)) === file.sha256) break;
    // A part of another file, or a server that sends the whole in place of a part: once more from the start.
    rmSync(part, { force: true });
    if (isAnew) throw new Error(`${day}/${file.path}: what came does not have the SHA-256 of the manifest`);
    isAnew = true;
  }
  renameSync(part, path);
}

async function appendRest(history: HistoryClient, day: string, path: string, part: string): Promise<undefined> {
  const body = await patiently(() => history.open(day, path, bytesOf(part)));
  await pipeline(body, createWriteStream(part, { flags: 'a' }));
}

/** Waits where the exchange says that it is too early, as often as it says so. */
async function patiently<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ApiError) || error.retryAfter === null) throw error;
      await delay((error.retryAfter + 1) * SECOND_MS);
    }
  }
}

async function chunksOf(body: ReadableStream<Uint8Array>): Promise<Uint8Array[]> {
  const chunks = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks;
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

async function sumOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
