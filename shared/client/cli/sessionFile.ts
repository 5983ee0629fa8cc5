/**
 * The session that `npm run login` opens, in a file that its owner alone may read, for the commands that follow.
 *
 * Invariants:
 *   SESSIONFILE-1  The file is whole at every moment, and never readable by others.
 */
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SessionTokens, TokenStore } from '../sessionTokens.ts';

type Kept = { readonly base_url: string; readonly tokens: SessionTokens };

const FOLDER = 'open-prediction-exchange';
const NAME = 'session.json';
const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;
const OTHERS = 0o077;
const LOOK_EVERY_MS = 50;
/** A lock that is older is of a process that was killed: no renewal takes so long. */
const LOCK_LIFE_MS = 60_000;

/** Null where the environment names no folder for settings. */
export function sessionPath(environment: NodeJS.ProcessEnv): string | null {
  const { SESSION_FILE, XDG_CONFIG_HOME, HOME, APPDATA } = environment;
  if (SESSION_FILE) return SESSION_FILE;
  const folder = XDG_CONFIG_HOME || (HOME && join(HOME, '.config')) || APPDATA;
  return folder ? join(folder, FOLDER, NAME) : null;
}

export class SessionFile implements TokenStore {
  readonly path: string;
  readonly #lock: string;
  #baseUrl: string | null;

  /** @param baseUrl that of tokens to be written; that of the file unless given. */
  constructor(path: string, baseUrl: string | null = null) {
    this.path = path;
    this.#lock = `${path}.lock`;
    this.#baseUrl = baseUrl ?? this.#kept()?.base_url ?? null;
  }

  /** The exchange of the session; null without one. */
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
    const next = `${this.path}.${process.pid}`;
    mkdirSync(dirname(this.path), { recursive: true, mode: OWNER_ONLY_FOLDER });
    rmSync(next, { force: true });
    writeFileSync(next, `${JSON.stringify(kept)}\n`, { mode: OWNER_ONLY, flag: 'wx' });
    chmodSync(next, OWNER_ONLY);
    renameSync(next, this.path);
  }

  async alone<T>(act: () => Promise<T>): Promise<T> {
    mkdirSync(dirname(this.path), { recursive: true, mode: OWNER_ONLY_FOLDER });
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
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
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
      return JSON.parse(readFileSync(this.path, 'utf8')) as Kept;
    } catch {
      throw new Error(`${this.path} is damaged: remove it, and sign in again`);
    }
  }
}
