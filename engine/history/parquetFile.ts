/** A table as a Parquet file, written in groups of rows, so that its memory is bounded. */
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { type HistoryTable, type HistoryType, historyColumns } from '../../shared/base/historyTables.ts';
import { HashedFile } from './hashedFile.ts';

const GROUP_ROWS = 50_000;
/** A part of each file: it is no setting, so that files do not depend on who writes them. */
const CREATED_BY = 'open-prediction-exchange history 1';
const TYPES = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
} as const;

export class ParquetFile {
  rows = 0;
  readonly file: HashedFile;
  readonly #bytes = new ByteWriter();
  readonly #names: readonly string[];
  readonly #types: readonly HistoryType[];
  readonly #writer: ParquetWriter;
  #columns: (string | number | bigint)[][];

  constructor(path: string, table: HistoryTable) {
    const columns = historyColumns(table);
    this.#names = columns.map(([name]) => name);
    this.#types = columns.map(([, { type }]) => type);
    const schema = columns.map(([name, { type }]) => ({ name, repetition_type: 'REQUIRED' as const, ...TYPES[type] }));
    this.file = new HashedFile(path);
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema: [{ name: table, num_children: columns.length }, ...schema],
      createdBy: CREATED_BY,
      kvMetadata: columns.map(([name, { meaning }]) => ({ key: name, value: meaning })),
    });
    this.#columns = columns.map(() => []);
  }

  /** @param values in the order of the columns, as in a CSV */
  add(values: readonly string[]): void {
    for (const [index, type] of this.#types.entries()) {
      const value = values[index];
      this.#columns[index].push(type === 'text' ? value : type === 'int32' ? Number(value) : BigInt(value));
    }
    this.rows++;
    if (this.#columns[0].length === GROUP_ROWS) this.#write();
  }

  /** @returns the SHA-256 */
  close(): string {
    if (this.#columns[0].length > 0) this.#write();
    void this.#writer.finish();
    this.#flush();
    return this.file.close();
  }

  #write(): void {
    const columnData = this.#names.map((name, index) => ({ name, data: this.#columns[index] }));
    void this.#writer.write({ columnData, rowGroupSize: GROUP_ROWS });
    this.#flush();
    this.#columns = this.#names.map(() => []);
  }

  #flush(): void {
    this.file.add(this.#bytes.getBytes().slice());
    this.#bytes.index = 0;
  }
}
