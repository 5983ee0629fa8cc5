/**
 * The session that `pmx login` opens, in a file that only its owner may read, for later commands.
 *
 * Invariants:
 *   SESSIONFILE-1  The file is complete at every moment, and only its owner can ever read it.
 */
import { closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCode } from '../../../base/thrown.ts';
import type { SessionTokens, TokenStore } from '../../sessionTokens.ts';
import { makeOwnerFolder, OWNER_ONLY, writeOwnerOnly } from './ownerFile.ts';

type Kept = { readonly base_url: string; readonly tokens: SessionTokens };

const OTHERS = 0o077;
const LOOK_EVERY_MS = 50;
/** An older lock belongs to a process that was killed, because no renewal takes so long. */
const LOCK_LIFE_MS = 60_000;

export class SessionFile implements TokenStore {
  readonly path: string;
  readonly #lock: string;
  #baseUrl: string | null;

  /** @param baseUrl the exchange of tokens that will be written; null: that of the file. */
  constructor(path: string, baseUrl: string | null = null) {
    this.path = path;
    this.#lock = `${path}.lock`;
    this.#baseUrl = baseUrl ?? this.#kept()?.base_url ?? null;
  }

  /** The exchange of the session; null if there is none. */
  get baseUrl(): string | null {
    return this.#baseUrl;
  }

  read(): SessionTokens | null {
    const kept = this.#kept();
    return kept === null || kept.base_url !== this.#baseUrl ? null : kept.tokens;
  }

  /** SESSIONFILE-1. */
  write(tokens: SessionTokens | null): void {
    if (tokens === null) {
      rmSync(this.path, { force: true });
      return;
    }
    const kept: Kept = { base_url: this.#baseUrl!, tokens };
    writeOwnerOnly(this.path, `${JSON.stringify(kept)}\n`);
  }

  async alone<T>(act: () => Promise<T>): Promise<T> {
    makeOwnerFolder(this.path);
    while (!this.#tryLock()) await delay(LOOK_EVERY_MS);
    try {
      return await act();
    } finally {
      rmSync(this.#lock, { force: true });
    }
  }

  #tryLock(): boolean {
    try {
      closeSync(openSync(this.#lock, 'wx', OWNER_ONLY));
      return true;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    const since = statSync(this.#lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > LOCK_LIFE_MS) rmSync(this.#lock, { force: true });
    return false;
  }

  #kept(): Kept | null {
    const status = statSync(this.path, { throwIfNoEntry: false });
    if (status === undefined) return null;
    if (process.platform !== 'win32' && (status.mode & OTHERS) !== 0) {
      throw new Error(`others may read ${this.path}: remove it, and sign in again`);
    }
    try {
      return JSON.parse(readFileSync(this.path, 'utf8'));
    } catch {
      throw new Error(`${this.path} is damaged: remove it, and sign in again`);
    }
  }
}
