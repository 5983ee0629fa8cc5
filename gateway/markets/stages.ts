/**
 * The administrator's steps through the stages in which trading opens again after a halt (RULES.md 9.70): of a market,
 * of an event's markets, or of the whole platform. The shards hold the stages and decide; state known here is checked
 * first, so that a step is refused as a whole.
 * Owner: the gateway thread.
 */
import type { PlatformStages, StageCounts } from '../../shared/api/stages.ts';
import { isDecided, STAGE, STAGE_NAMES, type Stage } from '../../shared/base/codes.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { MarketViews } from '../shardlink/marketViews.ts';
import type { EventEntry, MarketEntry } from './catalogEntries.ts';

/** A step to a looser stage names the stage that it starts from. */
export type StageStep = { readonly to: Stage; readonly from: Stage | null };

type States = Pick<MarketViews, 'has' | 'stage' | 'status' | 'shardStages'>;

type StageCommandsDeps = {
  readonly states: States;
  readonly engine: Pick<ShardClient, 'batch' | 'stepMarket' | 'stepAll'>;
  /** Runs an operation on markets when no other is under way: a market that is being opened exists by then. */
  readonly inTurn: <T>(operation: () => Promise<T>) => Promise<T>;
};

export class StageCommands {
  readonly #deps: StageCommandsDeps;

  constructor(deps: StageCommandsDeps) {
    this.#deps = deps;
  }

  /** @returns null on success; after a refusal nothing has changed. */
  async stepMarket(market: MarketEntry, { to, from }: StageStep): Promise<Refusal | null> {
    const { engine } = this.#deps;
    const { code } = await engine.stepMarket(market.index, market.shard, to, from);
    return code === E.OTHER_STAGE ? this.#otherStage(this.#deps.states.stage(market.index)) : refusalOf(code);
  }

  /** Steps all undecided markets of the event. If a shard did not answer, repeating the step does the rest. */
  stepEvent(event: EventEntry, step: StageStep): Promise<Refusal | null> {
    return this.#deps.inTurn(() => this.#stepEvent(event, step));
  }

  async #stepEvent(event: EventEntry, { to, from }: StageStep): Promise<Refusal | null> {
    const { engine, states } = this.#deps;
    const markets = undecidedOf(event, states);
    if (markets.length === 0) return { row: ERRORS.INVALID_TRANSITION };
    const other = markets.find(({ index }) => !maySteps(states.stage(index), { to, from }));
    if (other !== undefined) return this.#otherStage(states.stage(other.index), other.id);
    const steps: Promise<{ readonly code: number }>[] = [];
    engine.batch(() => {
      for (const { index, shard } of markets) steps.push(engine.stepMarket(index, shard, to, from));
    });
    const failed = (await Promise.all(steps)).find(({ code }) => code !== OK);
    return failed === undefined ? null : refusalOf(failed.code);
  }

  /** Steps every market, and those made later: in all shards, or in none while one is down. */
  async stepAll(step: StageStep): Promise<Refusal | null> {
    const { engine, states } = this.#deps;
    const other = states.shardStages.find((stage) => !maySteps(stage, step));
    if (other !== undefined) return this.#otherStage(other);
    const code = await engine.stepAll(step.to, step.from);
    return code === E.OTHER_STAGE ? this.#otherStage(platformStage(states)) : refusalOf(code);
  }

  #otherStage(stage: number, marketId?: string): Refusal {
    const market = marketId === undefined ? {} : { market_id: marketId };
    return { row: ERRORS.OTHER_STAGE, details: { ...market, stage: STAGE_NAMES[stage] } };
  }
}

/** The stage in which new markets begin: the strictest one, if a step has not reached every shard. */
export function platformStage({ shardStages }: Pick<MarketViews, 'shardStages'>): Stage {
  return shardStages.reduce((strictest, stage) => (stage > strictest ? stage : strictest));
}

/** The stage of the platform, and the number of undecided markets in each. */
export function platformStagesOf(states: Pick<MarketViews, 'inStage' | 'shardStages'>): PlatformStages {
  return { stage: STAGE_NAMES[platformStage(states)], stages: countsOf(states.inStage) };
}

export function stagesOfEvent(event: EventEntry, states: Pick<States, 'has' | 'stage' | 'status'>): StageCounts {
  const counts = STAGE_NAMES.map(() => 0);
  for (const { index } of undecidedOf(event, states)) counts[states.stage(index)]++;
  return countsOf(counts);
}

function countsOf([open, postOnly, cancelOnly]: readonly number[]): StageCounts {
  return { open, post_only: postOnly, cancel_only: cancelOnly };
}

/**
 * The stage in which a new market begins, unless the platform's is stricter: if every undecided market of its event is
 * halted, it is halted too, as far as the least halted of them.
 */
export function openingStage(event: EventEntry | undefined, states: Pick<States, 'has' | 'stage' | 'status'>): Stage {
  const stages = event === undefined ? [] : undecidedOf(event, states).map(({ index }) => states.stage(index));
  return stages.length === 0 ? STAGE.OPEN : stages.reduce((least, stage) => (stage < least ? stage : least));
}

function undecidedOf({ markets }: EventEntry, states: Pick<States, 'has' | 'status'>): MarketEntry[] {
  return markets.filter(({ index }) => states.has(index) && !isDecided(states.status(index)));
}

/** The shard decides in the same way. */
function maySteps(stage: number, { to, from }: StageStep): boolean {
  return from === null ? stage <= to : stage === from || stage === to;
}

function refusalOf(code: number): Refusal | null {
  return code === OK ? null : { row: errorRow(code) };
}
