/**
 * `admin audit` over the cuts at which the markets were divided anew (README.md): the journals of before, in their
 * folder, lead to the states with which the journals of today begin. The newest cut is compared with the snapshots at
 * it, as long as they are there; an older one only with what control.db noted of it.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { AssertionError } from '../../shared/base/assert.ts';
import { RESHARDINGS } from '../../shared/base/resharding.ts';
import { readJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import { JournalReader } from '../journal/reader.ts';
import { newestState } from '../snapshot/replica.ts';
import { auditShard } from './audit.ts';
import { listShards, openMasterKey, type ShardFile } from './directory.ts';
import { baseOf, oldStates, requireSameMoney } from './reshardedFiles.ts';
import type { NotedCut } from './reshardPlan.ts';

type AuditedCuts = { readonly lines: readonly string[]; readonly isBalanced: boolean };

/** @param files the journals of today */
export async function auditCuts(files: readonly ShardFile[], control: Database.Database): Promise<AuditedCuts> {
  const { directory } = files[0];
  const sql = 'SELECT value FROM platform WHERE key = ?';
  const noted = control.prepare<[string], string>(sql).pluck().get(RESHARDINGS);
  const cuts: NotedCut[] = noted === undefined ? [] : JSON.parse(noted);
  const lines: string[] = [];
  let isBalanced = true;
  for (const [index, cut] of cuts.entries()) {
    const { differences, said } = await auditCut(directory, cut, index === cuts.length - 1 ? files : null);
    isBalanced &&= differences.length === 0;
    lines.push(`from ${cut.before} to ${cut.shards} shards at record ${cut.base}: ${said}`, ...differences);
  }
  return { lines, isBalanced };
}

/** @param fresh the journals that begin at the cut, if they are those of today */
async function auditCut(
  directory: string,
  { base, before, ends, kept, shards }: NotedCut,
  fresh: readonly ShardFile[] | null,
): Promise<{ readonly differences: readonly string[]; readonly said: string }> {
  const folder = join(directory, kept);
  if (!existsSync(folder)) return { differences: [], said: `the journals of before are not in ${folder}` };
  const old = await listShards(folder, readJournalKey(directory, openMasterKey(directory)));
  if (old.length !== before) return { differences: [`${folder} has ${old.length} journals`], said: 'not balanced' };
  const differences = old.flatMap((file) => auditShard(file).differences.map((text) => `${file.journalPath}: ${text}`));
  const { replicas, ends: found } = oldStates(old);
  if (JSON.stringify(found) !== JSON.stringify(ends))
    differences.push(`the journals in ${folder} do not end as control.db noted`);
  const states = fresh?.map((file) => newestState(file, base + 1, base)?.engine.state ?? null) ?? [];
  const isThere = states.length > 0 && states.every((state) => state !== null);
  if (isThere) {
    const head = baseOf(found, shards);
    for (const file of fresh!) {
      const reader = new JournalReader(file.journalPath, file.key);
      const { firstSequence } = reader.facts();
      if (firstSequence === base + 1 && !reader.headBefore(firstSequence).equals(head))
        differences.push(`${file.journalPath} does not go on after the journals in ${folder}`);
      reader.close();
    }
    try {
      requireSameMoney(
        replicas.map(({ engine }) => engine.state),
        states,
      );
    } catch (error) {
      if (!(error instanceof AssertionError)) throw error;
      differences.push(error.message);
    }
  }
  const both = isThere ? 'both sides have the same' : 'the journals of before are balanced; the state after is trimmed';
  return { differences, said: differences.length === 0 ? both : 'not balanced' };
}
