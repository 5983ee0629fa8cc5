/** Says how the parts of the exchange stand, each in a sentence, which a person on call reads before any number. */
import type { BackupReport, Operations } from '../../../../shared/client/types.ts';
import { age, amountOf, bytes, count, DAY_SEC, stageWords } from './numbers.ts';
import type { Level, Problem, Subject } from './problem.ts';
import { secondsUntilFull } from './problems.ts';

/** Null where all is well. */
type PartState = { readonly name: Subject; readonly text: string; readonly level: Level | null };

const MS = 1000;
const WHOLE_PERCENT = 100;
/** A disk that lasts for longer is not said to be full on a day. */
const FAR_DAYS = 3650;

/** @param problems worst first */
export function statesOf(last: Operations, backups: BackupReport | null, problems: readonly Problem[]): PartState[] {
  const texts: [Subject, string][] = [
    ['Trading', tradingText(last)],
    ['Shards', shardsText(last)],
    ['Backups', backups === null ? 'Not known yet.' : backupsText(backups, last.time)],
    ['Disk', diskText(last)],
    ['Members', membersText(last)],
    ['Chain', chainText(last)],
    ['Surroundings', surroundingsText(last)],
  ];
  return texts.map(([name, text]) => {
    return { name, text, level: problems.find(({ subject }) => subject === name)?.level ?? null };
  });
}

/** Trading opens again in three steps after a halt: cancels alone, orders that do not cross, trading. */
function tradingText({ status, paused, stage, stages }: Operations): string {
  if (paused) {
    const next = stage === 'open' ? 'It ends with all markets open' : `It ends in ${stageWords(stage)}`;
    return `Paused: no order is accepted. ${next}, or step by step.`;
  }
  const { open, post_only: postOnly, cancel_only: cancelOnly } = stages;
  const markets = `${count(open)} open, ${count(postOnly)} post-only, ${count(cancelOnly)} cancel-only`;
  const steps = {
    cancel_only: 'Step 1 of 3: cancels alone. Next: post-only.',
    post_only: 'Step 2 of 3: orders that do not cross. Next: open.',
    open: status === 'ready' ? 'Open.' : `The exchange is ${status}.`,
  };
  return `${steps[stage]} Markets: ${markets}.`;
}

function shardsText({ shards }: Operations): string {
  const ready = shards.filter((each) => each.ready).length;
  const orders = shards.reduce((sum, { open_orders }) => sum + open_orders, 0);
  const accepting = `${ready} of ${amountOf(shards.length, 'shard')} ${ready === 1 ? 'accepts' : 'accept'} commands`;
  return `${accepting}, with ${amountOf(orders, 'open order')}.`;
}

function backupsText(backups: BackupReport, nowMs: number): string {
  const { state, read_bytes: read, directory_bytes: all, backed_up_at: madeAt, restored_at: restoredAt } = backups;
  const since = (time: string): string => age(Math.max(nowMs - Date.parse(time), 0) / MS);
  const made = madeAt === null ? 'None was ever made.' : `The last whole one is ${since(madeAt)} old.`;
  const restored = restoredAt === null ? 'none was ever restored' : `one was restored ${since(restoredAt)} ago`;
  const share = all === 0 ? 0 : Math.floor((read / all) * WHOLE_PERCENT);
  const running = state === 'running' ? ` One is under way: ${share} % is read.` : '';
  return madeAt === null ? `${made}${running}` : `${made} In drills ${restored}.${running}`;
}

function diskText({ disk }: Operations): string {
  const free = `${bytes(disk.free_bytes)} free; at ${bytes(disk.reserve_bytes)} orders are refused.`;
  const { growth_bytes_per_day: growth } = disk;
  if (growth === null) return `${free} How fast it fills is known half an hour after the start.`;
  const leftSec = secondsUntilFull(disk);
  if (leftSec === null) return `${free} It does not fill.`;
  const full = leftSec > FAR_DAYS * DAY_SEC ? 'full in more than ten years' : `full in ${age(leftSec)}`;
  return `${free} ${bytes(growth)} a day: ${full}.`;
}

function membersText({ cluster }: Operations): string {
  if (cluster === null) return 'One machine: nothing takes over from it.';
  const { leader, members, hand_over: next } = cluster;
  const lead = leader === null ? 'No member leads' : `${leader.member} leads`;
  const others = members.filter(({ member }) => member !== leader?.member);
  const following = others.map(({ member, behind_rows: behind, silent_seconds: silent }) => {
    const seen = silent < 1 ? 'seen just now' : `last seen ${age(silent)} ago`;
    return `${member} is ${amountOf(behind ?? 0, 'row')} behind, ${seen}`;
  });
  const going = next === null ? '' : ` The lead goes to ${next.member}.`;
  return `${[lead, ...(following.length === 0 ? ['no other reports'] : following)].join('; ')}.${going}`;
}

function chainText({ settlement }: Operations): string {
  if (settlement === null) return 'None: the ledger of this exchange is final.';
  const { pending, submitted } = settlement.work;
  const waiting = `${amountOf(pending + submitted, 'transaction')} under way`;
  return settlement.reason === null ? `Trades settle, ${waiting}.` : `Orders are refused: ${settlement.reason}.`;
}

function surroundingsText({ clock, audit_written: isWritten, certificate_end: end, time }: Operations): string {
  const ahead = clock.clients_ahead_seconds;
  const clients = ahead === null ? '' : ` Clients' clocks differ by ${Math.abs(ahead).toFixed(1)} s.`;
  const audit = isWritten ? 'The audit log is written.' : 'The audit log is not written.';
  const left = end === null ? '' : ` The certificate lasts ${age(Math.max(end - time, 0) / MS)} more.`;
  return `${audit}${clients}${left}`;
}
