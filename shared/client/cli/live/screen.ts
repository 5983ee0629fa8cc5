/**
 * The whole terminal as one picture. It is drawn over the one before, in one write and between the marks of a
 * synchronised update, so that nothing flickers; what was on the terminal before comes back at the end.
 *
 * Invariants:
 *   SCREEN-1  However the program ends, the cursor is visible again and keys are echoed.
 */
import type { Input, Output, Terminal } from '../frame/terminal.ts';

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const BEGIN = '\x1b[?2026h\x1b[H';
const END = '\x1b[J\x1b[?2026l';
const END_OF_LINE = '\x1b[K';
/** A person sees no more pictures than this, and a slow line carries no more. */
const LEAST_PAUSE_MS = 50;
const DEFAULT_SIZE = { columns: 80, rows: 24 };
const CTRL_C = '\x03';

/** @returns the lines of the picture, none wider than the terminal. */
type Draw = (size: { columns: number; rows: number }) => string[];

export class Screen {
  readonly #out: Output;
  readonly #input: Input;
  readonly #draw: Draw;
  readonly #quit: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #shown = '';
  #isFull = false;
  #isClosed = false;

  /** @param quit called when the person wants to leave. */
  constructor({ out, input }: Terminal, draw: Draw, quit: () => void) {
    this.#out = out;
    this.#input = input;
    this.#draw = draw;
    this.#quit = quit;
    out.write(ENTER);
    out.on?.('resize', this.#resized);
    if (input.isTTY === true) {
      input.setRawMode?.(true);
      input.on('data', this.#typed);
    }
  }

  /** The picture has changed. It is drawn soon, however often this is called. */
  changed(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#redraw();
    }, LEAST_PAUSE_MS);
  }

  /** SCREEN-1. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#out.off?.('resize', this.#resized);
    this.#input.off('data', this.#typed);
    if (this.#input.isTTY === true) {
      this.#input.setRawMode?.(false);
      this.#input.pause();
    }
    this.#out.write(LEAVE);
  }

  readonly #resized = (): void => {
    this.#shown = '';
    this.changed();
  };

  readonly #typed = (chunk: Buffer | string): void => {
    const text = String(chunk);
    if (text.includes('q') || text.includes(CTRL_C)) this.#quit();
  };

  /** A terminal that has not shown the last picture yet gets none before it has. */
  #redraw(): void {
    if (this.#isFull || this.#isClosed) return;
    // A terminal that does not know its size has none of 0.
    const columns = this.#out.columns || DEFAULT_SIZE.columns;
    const rows = this.#out.rows || DEFAULT_SIZE.rows;
    const picture = this.#draw({ columns, rows })
      .map((line) => line + END_OF_LINE)
      .join('\r\n');
    if (picture === this.#shown) return;
    this.#shown = picture;
    if (this.#out.write(BEGIN + picture + END) || this.#out.once === undefined) return;
    this.#isFull = true;
    this.#out.once('drain', () => {
      this.#isFull = false;
      this.changed();
    });
  }
}
