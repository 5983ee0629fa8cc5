/** Buttons for the steps by which trading opens again after a halt: of the platform, an event or a market. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { AdminClient } from '../../../../shared/client/admin.ts';
import type { StageName, StageStep } from '../../../../shared/client/types.ts';
import type { Operator, Role } from './access.ts';
import { Action } from './action.ts';
import { stageWords } from './numbers.ts';

/** The stages from strictest to open, as trading opens again. */
const STAGES: readonly StageName[] = ['cancel_only', 'post_only', 'open'];
const MEANING: Readonly<Record<StageName, string>> = {
  cancel_only: 'takes cancels alone, and amends that keep their place in the queue.',
  post_only: 'takes orders that do not cross. Nothing trades.',
  open: 'trades again.',
};

type StageStepsProps = {
  readonly client: AdminClient;
  readonly operator: Operator;
  readonly needs: Role;
  /** The name of what the steps concern, as a sentence begins: "Every market". */
  readonly what: string;
  readonly stage: StageName;
  /** The open orders that the steps concern, as a sentence. */
  readonly orders: string;
  /** The address of the steps. */
  readonly path: string;
  readonly closed?: string | null;
  readonly run: (step: StageStep) => Promise<unknown>;
  readonly onDone?: () => void;
};

/** A step names the stage that the person has seen: if another operator has changed it since, the step is refused. */
export function StageSteps({ what, stage, orders, run, ...action }: StageStepsProps): VNode {
  return html`${STAGES.filter((each) => each !== stage).map(
    (each) => html`<${Action} ...${action} key=${each}
      label=${`${what}: ${stageWords(each)}`} isDangerous=${each === 'cancel_only'}
      confirm=${`${what}, now in ${stageWords(stage)}, ${MEANING[each]} ${orders}`}
      run=${() => run({ stage: each, expected: stage })} />`,
  )}`;
}
