/**
 * The files of the page, made by a thread (pageBuild.ts) when the first of them is requested: a server that no browser
 * visits does not pay for them.
 * Owner: the gateway thread.
 */
import { Worker } from 'node:worker_threads';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';

/** A file with every encoding of its content. */
export type PageFile = {
  /** The path below `/assets/`; empty for the document. */
  readonly path: string;
  readonly contentType: string;
  readonly cacheControl: string;
  /** The Content-Security-Policy of a document; other files need none. */
  readonly policy: string;
  readonly plain: Uint8Array;
  readonly gzip: Uint8Array;
  readonly brotli: Uint8Array;
};

/** The page for everyone, and the page for the people who run the exchange. */
export type DocumentName = 'trading' | 'operations';
type Documents = Readonly<Record<DocumentName, PageFile>>;

/** The message of the thread. */
export type BuiltPage = { readonly documents: Documents; readonly files: readonly PageFile[] };

type Page = { readonly documents: Documents; readonly byPath: ReadonlyMap<string, PageFile> };

export type PageOptions = {
  /** True if visitors may try the exchange with a wallet that the browser makes, and play money. */
  readonly isDemo: boolean;
  /** The names of the OpenID providers for signing in: letters, digits. */
  readonly providers: readonly string[];
};

export class PageFiles {
  readonly #options: PageOptions;
  #page: Promise<Page> | null = null;

  constructor(options: PageOptions) {
    this.#options = options;
  }

  async document(name: DocumentName): Promise<PageFile> {
    return (await this.#built()).documents[name];
  }

  /** Undefined if there is no such file. */
  async file(path: string): Promise<PageFile | undefined> {
    return (await this.#built()).byPath.get(path);
  }

  /** A failed build is tried again by the next request. */
  #built(): Promise<Page> {
    this.#page ??= build(this.#options).catch((error: unknown) => {
      this.#page = null;
      throw error;
    });
    return this.#page;
  }
}

async function build(options: PageOptions): Promise<Page> {
  const { documents, files } = await messageOf<BuiltPage>(new URL('./pageBuild.ts', import.meta.url), options);
  return { documents, byPath: new Map(files.map((file) => [file.path, file])) };
}

/** @returns the only message of a thread that is started with this data and ends after its message */
export function messageOf<T>(entry: URL, workerData: unknown): Promise<T> {
  const worker = new Worker(entry, { execArgv: [...STRIPPED_BEFORE], workerData, name: 'page' });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the thread that makes the page ended early')));
  });
}
