/**
 * Native objects of SQLite are made where something is opened, and not in what runs again and again (PREPARED-1).
 *
 * A call of `prepare` or `pragma`, and `new Database`, may stand in a constructor, in a function whose name begins with
 * `open`, in one called `prepare`, which a constructor calls, and in the functions of the table below. Everything else
 * asks for its statements by `prepared` and `preparedValue`, or runs `exec`, which leaves no object.
 */
import { test } from 'node:test';
import { assertClean, assertNone, production, type Source } from './sources.ts';

/** Tools that end, and what runs in a browser. */
const NO_LOOP = /^(?:engine\/(?:admin|backup)|shared\/client|gateway\/web\/browser)\//;
const MAKES = /\.(?:pragma|prepare)(?:<|\()|\b(?:new (?:Database|Sqlite)|(?<!function )openDatabase)\(/;
const HAS_OWN = /^(?:open\w*|prepare|constructor)$/;

/** Functions that run once, or rarely, by the moment. */
const ONCE: Readonly<Record<string, readonly string[]>> = {
  // When a shard, the projector or a store opens its file; each is called by the constructor.
  'engine/journal/file.ts': ['requireSqlite', 'requireShard', 'requireWholeLog'],
  'engine/journal/journal.ts': ['replay'],
  'engine/projector/main.ts': ['sayIfPagesStay'],
  'engine/projector/orders.ts': ['#restore'],
  'engine/projector/readDb.ts': ['dropAll'],
  'engine/projector/upgrade.ts': ['hasPresentForm', 'formOf', 'names'],
  'engine/settlement/settlementDb.ts': ['emptySettlementDb', 'readSettlementDb'],
  'gateway/shardlink/answerDb.ts': ['requireWhole'],
  'gateway/account/activityWalksQueries.ts': ['along'],
  'gateway/markets/volumeQueries.ts': ['marketFilter'],
  'gateway/markets/marks.ts': ['lastClose'],
  'gateway/account/tradeQueries.ts': ['reader'],
  'gateway/account/accounts.ts': ['#load'],
  'gateway/markets/catalog.ts': ['#load'],
  'gateway/base/database.ts': ['emptyControlDatabase', 'lockControlDatabase', 'bring'],
  'gateway/markets/deployments.ts': ['all'],
  'gateway/account/movements.ts': ['hashReferences'],
  'gateway/account/readMarksStore.ts': ['writer'],
  'gateway/chain/settlementMode.ts': ['markOf', 'damageOf'],
  // When the projector replaces the file, and until settlement has made its own.
  'gateway/wiring/queryWorker.ts': ['reader'],
  'gateway/account/settlementQueries.ts': ['tryOpen'],
  'gateway/markets/searchBudgetQueries.ts': ['reads'],
  // Once for each file of the archive, of which a thread has some open.
  'engine/projector/archivePacking.ts': ['packOrders'],
  'engine/projector/orderArchive.ts': ['#copy', '#open'],
  'gateway/account/archivedOrdersQueries.ts': ['#opened'],
  // When a member of a cluster starts, joins, comes back, or gives a copy; once for each recorded text.
  'engine/replication/giving.ts': ['#database', '#journal'],
  'engine/replication/prepare.ts': ['otherKeyIn'],
  'engine/replication/memberHeads.ts': ['recordsHead', 'becomeFounder'],
  'engine/replication/records.ts': ['queueOf', 'forget', 'endOf'],
  'engine/replication/rejoin.ts': [
    'lastIn',
    'rowAt',
    'withRows',
    'copyTail',
    'removeTail',
    'rowsFromEnd',
    'withDatabase',
  ],
  'gateway/base/controlRecords.ts': ['copyTo'],
  'shared/records/olderTables.ts': ['requireStatement'],
  // Before a start, and where control.db is opened, made or checked.
  'shared/base/openDatabase.ts': ['setUserVersion', 'numberOf'],
  'shared/base/directoryVersion.ts': ['noteVersion', 'isOfMember', 'numberOf'],
  'shared/base/keptRoom.ts': ['closeLast'],
  'shared/base/rowSums.ts': ['keepRowSums', 'makeRowSums', 'rowsThatDiffer', 'summedTables'],
  'shared/records/undo.ts': ['#watch', 'takeBack', 'takeBackAll'],
  // Kept by their text, up to a bound of their own.
  'gateway/markets/catalogListsQueries.ts': ['#statement'],
  'shared/base/prepared.ts': ['keptIn'],
  'shared/records/recordedFile.ts': ['#prepare'],
  // The connection as stores see it.
  'shared/records/recordedDatabase.ts': ['pragma'],
  // When an operator compares or copies read.db.
  'engine/projector/contents.ts': ['values', 'words', 'entriesOfTail'],
  'engine/projector/databaseCopy.ts': ['copyDatabase'],
  'engine/projector/archiveFiles.ts': ['wrongArchiveFiles', 'archivedOrders', 'tablesOf', 'takeFile'],
  'engine/projector/stateCheck.ts': ['differencesFromState', 'fill'],
};

/** The head of a function of the module, or of a method, with the name by which it is called. */
const HEAD =
  /^(?:export )?(?:async )?function\*? (?<named>\w+)|^ {2}(?:(?:private|static|async|get|set) )*\*?(?!(?:if|for|while|switch)\b)(?<method>#?\w+)(?:<[^(]*>)?\((?:.*(?<!=> )[({,])?$/;

test('statements are made where something is opened, and not again and again', () => {
  assertClean(inLoops(), (source) =>
    callsOf(source)
      .filter(({ by }) => !HAS_OWN.test(by) && ONCE[source.path]?.includes(by) !== true)
      .map(({ line, by }) => `line ${line}, in ${by}`),
  );
});

test('every function that may make statements once makes some', () => {
  const found = new Set(inLoops().flatMap((source) => callsOf(source).map(({ by }) => `${source.path}: ${by}`)));
  const listed = Object.entries(ONCE).flatMap(([path, names]) => names.map((name) => `${path}: ${name}`));
  // Without git around it there are no sources.
  assertNone(production.length === 0 ? [] : listed.filter((each) => !found.has(each)));
});

function inLoops(): readonly Source[] {
  return production.filter(({ path }) => !NO_LOOP.test(path));
}

function callsOf({ lines }: Source): { readonly line: number; readonly by: string }[] {
  let by = 'the module';
  return lines.flatMap((text, index) => {
    const { named, method } = HEAD.exec(text)?.groups ?? {};
    by = named ?? method ?? by;
    const isComment = /^\s*(?:\*|\/[/*])/.test(text);
    // `prepare` of something else than a connection: it begins a rehearsal, a member, a front.
    const isOther = /(?:Rehearsal|member|front|#files\?)\.prepare\(/.test(text);
    return MAKES.test(text) && !isComment && !isOther ? [{ line: index + 1, by }] : [];
  });
}
