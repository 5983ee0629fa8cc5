/**
 * `admin journal adopt`: makes a new key for the journals, with which it authenticates the existing records and
 * snapshots. For an operator who has lost journal.key and its backups.
 * The exchange must be stopped; the caller holds its lock.
 *
 * Until the key is written the directory is unchanged, so an interrupted command can be run again.
 */
import { rmSync } from 'node:fs';
import { makeJournalKey, writeJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import type { NamedRuns } from '../book/acceptedHashes.ts';
import { NamedOnly } from '../snapshot/hashRuns.ts';
import type { RunPlace } from '../snapshot/runPages.ts';
import { listSnapshots, saveSnapshot } from '../snapshot/snapshot.ts';
import { prune, reseal } from '../snapshot/spilling.ts';
import { AdminError, listShards, openMasterKey, type ShardFile } from './directory.ts';
import { inspectShard } from './inspect.ts';
import { currentState } from './replica.ts';

/** @returns the journals under their new key, and what was done, a line each. */
export async function adopt(directory: string): Promise<{ files: readonly ShardFile[]; lines: readonly string[] }> {
  const masterKey = openMasterKey(directory);
  const unchecked = await listShards(directory, makeJournalKey([]), true);
  const found = unchecked.map(inspectShard);
  const problem = found.find((findings) => findings.problem !== null)?.problem;
  if (problem != null) throw new AdminError(`only whole journals are adopted: ${problem.text}`);
  const key = makeJournalKey(found.map(({ last }) => last + 1));
  const files = await listShards(directory, key);
  const lines: string[] = [];
  const old = files.flatMap((file) => listSnapshots(directory, file.shard));
  const fresh = new Set<string>();
  const named = new Map<RunPlace, NamedRuns>();
  for (const [shard, file] of files.entries()) {
    const { last } = found[shard];
    lines.push(
      last === 0 ? `shard ${shard}: no records` : `shard ${shard}: records up to ${last} are taken as they are`,
    );
    if (last === 0) continue;
    const { engine, head } = currentState(unchecked[shard]);
    const { hashes } = engine.state;
    const [from, to] = [unchecked[shard], file].map((each) => ({ directory, shard, mac: each.key.snapshots }));
    const { through, runs } = hashes.spilled.named;
    const resealed = { through, runs: runs.map((run) => reseal(from, run, to)) };
    hashes.adopt(new NamedOnly(resealed), false);
    named.set(to, resealed);
    const { path } = saveSnapshot(directory, shard, { state: engine.state, nowMs: engine.nowMs, head }, file.key);
    fresh.add(path);
  }
  writeJournalKey(directory, masterKey, key);
  for (const { path } of old) if (!fresh.has(path)) rmSync(path, { force: true });
  for (const [place, runs] of named) prune(place, [runs]);
  return { files, lines };
}
