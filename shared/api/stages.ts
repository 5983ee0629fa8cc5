/** The stages in which trading opens again after a halt (RULES.md 9.70). */
import { STAGE_NAMES } from '../base/codes.ts';
import { COUNT, UUID } from './fields.ts';
import { described, type FromSchema, object } from './schema.ts';

export const STAGE_FIELD = described(
  { type: 'string', enum: STAGE_NAMES } as const,
  'What books take: every order, orders that do not cross, or cancels alone.',
);

export const STAGE_STEP = {
  type: 'object',
  additionalProperties: false,
  required: ['stage'],
  properties: {
    stage: STAGE_FIELD,
    expected: described(
      { type: 'string', enum: STAGE_NAMES } as const,
      'The stage that it is in before. A step to a looser stage needs it.',
    ),
  },
  examples: [{ stage: 'post_only', expected: 'cancel_only' }],
} as const;
export type StageStep = FromSchema<typeof STAGE_STEP>;

/** The number of undecided markets in each. */
export const STAGE_COUNTS = object({ open: COUNT, post_only: COUNT, cancel_only: COUNT });
export type StageCounts = FromSchema<typeof STAGE_COUNTS>;

const STAGES = { stages: described(STAGE_COUNTS, 'Markets that are not decided, by stage.') } as const;
export const PLATFORM_STAGE_FIELDS = {
  stage: described(STAGE_FIELD, 'In which new markets begin: that of the last step of the whole platform.'),
  ...STAGES,
} as const;
export const PLATFORM_STAGES = object(PLATFORM_STAGE_FIELDS);
export type PlatformStages = FromSchema<typeof PLATFORM_STAGES>;
export const EVENT_STAGES = object({ event_id: UUID, ...STAGES });
export type EventStages = FromSchema<typeof EVENT_STAGES>;
