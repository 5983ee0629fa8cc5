/** The environment of the program, as an argument, so that a test can replace it. */
import type { Readable } from 'node:stream';
import type { Clock } from '../../../base/clock.ts';

/** A terminal or a pipe; a terminal has a size. */
export type Output = {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string): boolean;
  on?(event: 'resize' | 'drain', listener: () => void): unknown;
  once?(event: 'drain', listener: () => void): unknown;
  off?(event: 'resize', listener: () => void): unknown;
};

export type Input = Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };

export type Terminal = {
  readonly env: NodeJS.ProcessEnv;
  readonly out: Output;
  readonly err: Output;
  readonly input: Input;
  readonly clock: Clock;
  /** Aborted when the person ends the program. */
  readonly interrupted: AbortSignal;
};

/** Resolves when the program is interrupted. */
export function untilInterrupted({ interrupted }: Terminal): Promise<void> {
  if (interrupted.aborted) return Promise.resolve();
  return new Promise((resolve) => interrupted.addEventListener('abort', () => resolve(), { once: true }));
}

/** Resolves after the time, or when the program is interrupted. @returns true if the time has passed. */
export function pause({ interrupted }: Terminal, ms: number): Promise<boolean> {
  if (interrupted.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const stop = (): void => finish(false);
    const timer = setTimeout(() => finish(true), ms);
    const finish = (hasPassed: boolean): void => {
      clearTimeout(timer);
      interrupted.removeEventListener('abort', stop);
      resolve(hasPassed);
    };
    interrupted.addEventListener('abort', stop, { once: true });
  });
}

export function writeLine(out: Output, line: string): Promise<void> {
  return written(out, `${line}\n`);
}

/** Resolves once more output may follow: waits for a slow reader. */
export async function written(out: Output, text: string): Promise<void> {
  if (out.write(text) || out.once === undefined) return;
  await new Promise<void>((resolve) => out.once!('drain', resolve));
}

/** Colours are for a person who reads at a terminal and has not declined them (no-color.org). */
function hasColour(out: Output, env: NodeJS.ProcessEnv): boolean {
  if (env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '') return false;
  if (env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '0') return true;
  return out.isTTY === true && env['TERM'] !== 'dumb';
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
export type Colour = keyof typeof CODES;
export type Paint = (colour: Colour, text: string) => string;

export function paintFor(out: Output, env: NodeJS.ProcessEnv): Paint {
  if (!hasColour(out, env)) return (_, text) => text;
  return (colour, text) => `\x1b[${CODES[colour]}m${text}\x1b[0m`;
}
