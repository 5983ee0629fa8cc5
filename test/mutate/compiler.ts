/**
 * The TypeScript compiler over a copy of the project: the places for mutants in a file, and whether a mutant compiles
 * at all. A mutant that it refuses says nothing about the tests.
 */
import { join } from 'node:path';
import { API } from 'typescript/unstable/sync';
import { type Place, placesIn } from './places.ts';

export class Compiler {
  readonly #root: string;
  readonly #api: API;

  /** @param root a directory with a tsconfig.json */
  constructor(root: string) {
    this.#root = root;
    this.#api = new API({ cwd: root });
    this.#api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] });
  }

  placesIn(path: string): Place[] {
    const source = this.#program([]).getSourceFile(join(this.#root, path));
    if (source === undefined) throw new Error(`${path} is no source of the project`);
    return placesIn(source);
  }

  /** The first complaint about the file as it is on the disk now, or null. */
  complaintAbout(path: string): string | null {
    const file = join(this.#root, path);
    const program = this.#program([file]);
    const [first] = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return first?.text ?? null;
  }

  close(): void {
    this.#api.close();
  }

  #program(changed: readonly string[]) {
    const snapshot = this.#api.updateSnapshot({ fileChanges: { changed: [...changed] } });
    return snapshot.getProjects()[0].program;
  }
}
