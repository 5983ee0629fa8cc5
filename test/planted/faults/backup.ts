/** Faults of backups, and of what is made from them. */
import type { Fault } from './fault.ts';

const NUMBERS = 'test/api/restoredNumbers.test.ts';
const BACKUPS = 'test/api/backups.test.ts';
const RAISING = 'test/unit/engine/core/raising.test.ts';

export const BACKUP_FAULTS: readonly Fault[] = [
  {
    name: 'a market that is opened after a restore begins with frame 1',
    file: 'engine/core/apply.ts',
    search: '    market.sequence = this.#state.floor;\n',
    replace: '',
    caughtBy: RAISING,
  },
  {
    name: 'orders have numbers again that were lost',
    file: 'engine/core/raising.ts',
    search: '  state.orderSequence = floor;\n',
    replace: '',
    caughtBy: RAISING,
  },
  {
    name: 'trades have numbers again that were lost, which the chain may have settled',
    file: 'engine/core/raising.ts',
    search: '  matcher.tradeSequence = floor;\n',
    replace: '',
    caughtBy: RAISING,
  },
  {
    name: 'a floor is lost with the snapshot',
    file: 'engine/core/state.ts',
    search: '    if (io.version >= FLOOR_VERSION) this.floor = io.number(this.floor);\n',
    replace: '',
    caughtBy: RAISING,
  },
  {
    name: 'private frames have numbers again that were lost',
    file: 'gateway/stream/private/log.ts',
    search: '    this.#raise(options.floor ?? 0);\n',
    replace: '',
    caughtBy: NUMBERS,
  },
  {
    name: 'a restart forgets the floor of private frames',
    file: 'gateway/stream/private/segment.ts',
    search: '  words[SEGMENT_HEAD.floor] = floorToWord(floor);\n',
    replace: '',
    caughtBy: 'test/unit/gateway/stream/private/log.test.ts',
  },
  {
    name: 'audit records have numbers again that were lost',
    file: 'engine/admin/raiseNumbers.ts',
    search: 'chainLine({ sequence: floor, hash: last.hash }',
    replace: 'chainLine(last',
    caughtBy: NUMBERS,
  },
  {
    name: 'a withdrawal has the id again of one that the chain has paid',
    file: 'engine/settlement/drafts.ts',
    search: '...(floor === 0 ? [] : [floor])',
    replace: '',
    caughtBy: 'test/unit/engine/settlement/work.test.ts',
  },
  {
    name: 'a backup uses a copy of control.db during which an exchange has started',
    file: 'engine/backup/controlSource.ts',
    search: '  if (stateOf(path) !== before) return false;\n',
    replace: '',
    caughtBy: 'test/unit/engine/backup/controlSource.test.ts',
  },
  {
    name: 'a backup goes on from a journal that has another history',
    file: 'engine/backup/segments.ts',
    search: '      if (!reader.continues(head)) return;\n',
    replace: '',
    caughtBy: NUMBERS,
  },
  {
    name: 'a restore takes a part that is damaged',
    file: 'engine/backup/store.ts',
    search: '    if (hashOf(bytes) === name) return bytes;\n',
    replace: '    if (name !== "") return bytes;\n',
    caughtBy: BACKUPS,
  },
  {
    name: 'a restore to a time has records of that time too',
    file: 'engine/backup/laterRecords.ts',
    search: '      if (record.timeMs >= this.beforeMs) return false;\n',
    replace: '',
    caughtBy: BACKUPS,
  },
  {
    name: 'a restore removes an exchange that was started in its directory meanwhile',
    file: 'engine/admin/backups.ts',
    search: '    renameSync(folder, directory);\n',
    replace: '    rmSync(directory, { recursive: true, force: true });\n    renameSync(folder, directory);\n',
    caughtBy: BACKUPS,
  },
  {
    name: 'the second damage of a part takes the name of the first one',
    file: 'engine/backup/store.ts',
    search: '  const aside = freeName(',
    replace: '  const aside = String(',
    caughtBy: BACKUPS,
  },
  {
    name: 'a backup goes on from records that its folder lost',
    file: 'engine/backup/segments.ts',
    search: '      if (!gone.every((segment) => this.#writeAgain(segment, reader))) return;\n',
    replace: '      if (gone.length < 0) this.#writeAgain(gone[0]!, reader);\n',
    caughtBy: BACKUPS,
  },
  {
    name: 'parts go that a damaged point may name',
    file: 'engine/backup/store.ts',
    search: '    if (problems.length > 0 || isAside) return null;\n',
    replace: '    if (problems.length < 0 && isAside) return null;\n',
    caughtBy: 'test/unit/engine/backup/store.test.ts',
  },
  {
    name: 'a log without its file loses its name to the next file that is set aside',
    file: 'shared/base/setAside.ts',
    search: ", '', ['-wal'])",
    replace: ')',
    caughtBy: 'test/unit/shared/base/setAside.test.ts',
  },
  {
    name: 'a restored exchange trades at once',
    file: 'engine/backup/restore.ts',
    search: "  writeText(path, PAUSED, 'yes');\n",
    replace: '',
    caughtBy: BACKUPS,
  },
  {
    name: 'a backup does not replay what it has copied',
    file: 'engine/backup/replayed.ts',
    search: '      engine.replay(record);\n',
    replace: '',
    caughtBy: 'test/unit/engine/backup/replayed.test.ts',
  },
];
