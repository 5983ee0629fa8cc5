/**
 * The pages of the documents and the files that they load, made by a thread (docsBuild.ts) when the first of them is
 * requested: a server whose documents are not read does not pay for them.
 * Owner: the gateway thread.
 */
import { messageOf, type PageFile } from './pageFiles.ts';

/** No request has this path. */
export const NOT_FOUND_PATH = 'not-found';

export type DocumentsOptions = {
  /** The documents of the interface, as JSON. */
  readonly openApi: string;
  readonly asyncApi: string;
};

export class DocumentFiles {
  readonly #options: () => Promise<DocumentsOptions>;
  #files: Promise<ReadonlyMap<string, PageFile>> | null = null;

  constructor(options: () => Promise<DocumentsOptions>) {
    this.#options = options;
  }

  /** Undefined if no document has this path. */
  async file(path: string): Promise<PageFile | undefined> {
    return (await this.#made()).get(path);
  }

  /** The page that says that there is no such document. */
  async notFound(): Promise<PageFile> {
    return (await this.#made()).get(NOT_FOUND_PATH)!;
  }

  /** A failed build is tried again by the next request. */
  #made(): Promise<ReadonlyMap<string, PageFile>> {
    this.#files ??= build(this.#options).catch((error: unknown) => {
      this.#files = null;
      throw error;
    });
    return this.#files;
  }
}

async function build(options: () => Promise<DocumentsOptions>): Promise<ReadonlyMap<string, PageFile>> {
  const files = await messageOf<readonly PageFile[]>(new URL('./docsBuild.ts', import.meta.url), await options());
  return new Map(files.map((file) => [file.path, file]));
}
