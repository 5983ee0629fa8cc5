/** Operators' commands for the exchange as a whole: state, pause, approvals, audit log, operators. */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { Ledger, PlatformStages, StageName } from '../../types.ts';
import { command } from '../frame/command.ts';
import { UsageError } from '../frame/errors.ts';
import { numberOf, optionalNumber } from '../frame/orderForm.ts';
import { OWNER_ONLY } from '../frame/ownerFile.ts';
import { nextLine, PAGE_OPTIONS } from '../frame/pages.ts';
import { columns, decimal, facts } from '../frame/text.ts';
import { ADMIN_BACKUPS } from './adminBackups.ts';

const ID = { id: { description: 'the id of the approval' } } as const;
const ROLES = ['viewer', 'catalogue', 'treasury', 'superuser'] as const;
const STAGES = ['cancel-only', 'post-only', 'open'] as const;
const HALTED = ['cancel-only', 'post-only'] as const;
const DRILLS = ['NOT_MATCHING_LEADER', 'SETTLEMENT_UNHEALTHY'] as const;

export const ADMIN_PLATFORM = [
  command({
    name: 'admin status',
    summary: 'Show the state of the exchange: paused, stage, drills, disk, shards, contracts',
    json: 'the answer of GET /admin/platform',
    run: async (context) => {
      const answer = await context.admin().platform();
      const away = answer.shards.filter(({ ready }) => !ready).map(({ shard }) => shard);
      const lines = facts([
        ['trading', answer.paused ? 'paused' : 'yes'],
        ['stage', wordsOf(answer.stage)],
        ['markets', countsText(answer.stages)],
        ['shards', away.length === 0 ? `${answer.shards.length}, all ready` : `away: ${away.join(', ')}`],
        ['disk', answer.disk_low ? 'LOW' : 'enough'],
        ['drills', answer.drills.join(' ') || 'none'],
        ['exchange contract', answer.contracts.exchange_address],
        ['contracts pending', answer.contracts_pending === null ? 'none' : answer.contracts_pending.exchange_address],
      ]);
      return { value: answer, lines };
    },
  }),
  command({
    name: 'admin pause',
    summary: 'Pause all trading; cancels still work',
    json: 'the answer of POST /admin/platform/pause',
    run: async (context) => {
      const answer = await context.admin().pause();
      return { value: answer, lines: [answer.message] };
    },
  }),
  command({
    name: 'admin resume',
    summary: 'Resume trading, at once or in stages',
    options: { stage: { value: 'stage', description: 'first step every market to this stage', choices: HALTED } },
    examples: ['admin resume', 'admin resume --stage cancel-only'],
    json: 'the answer of POST /admin/platform/resume',
    run: async (context, { stage }) => {
      if (stage !== undefined) await context.admin().stepPlatform({ stage: stageOf(stage) });
      const answer = await context.admin().resume();
      return { value: answer, lines: [stage === undefined ? answer.message : `${answer.message}, in ${stage}`] };
    },
  }),
  command({
    name: 'admin stage',
    summary: 'Step all markets, those of an event or one to another stage after a halt',
    details: 'In cancel-only a market takes cancels alone, in post-only also orders that do not cross.',
    arguments: { stage: { description: 'the stage to step to', choices: STAGES } },
    options: {
      from: { value: 'stage', description: 'the stage it is in; needed for a step to a looser one', choices: STAGES },
      market: { value: 'id', description: 'this market alone' },
      event: { value: 'id', description: 'the markets of this event' },
    },
    examples: ['admin stage cancel-only', 'admin stage post-only --from cancel-only --market MARKET'],
    json: 'the answer of POST /admin/platform/stage, /admin/events/{id}/stage or /admin/markets/{id}/stage',
    run: async (context, { stage, from, market, event }) => {
      if (market !== undefined && event !== undefined) throw new UsageError('give --market or --event');
      const admin = context.admin();
      const step = { stage: stageOf(stage), ...(from === undefined ? {} : { expected: stageOf(from) }) };
      if (market !== undefined) {
        const answer = await admin.stepMarket(market, step);
        return { value: answer, lines: [`${answer.title}: ${wordsOf(answer.stage)}`] };
      }
      const answer = event === undefined ? await admin.stepPlatform(step) : await admin.stepEvent(event, step);
      return { value: answer, lines: [countsText(answer.stages)] };
    },
  }),
  command({
    name: 'admin ledger',
    summary: 'Add up the money of the exchange; exit code 1 if it does not close, or differs from the chain',
    json: 'the answer of GET /admin/ledger',
    run: async (context) => {
      const answer = await context.admin().ledger();
      const lines = facts([
        ['balanced', answer.balanced ? 'yes' : 'NO'],
        ['paid in', `${decimal(answer.total_usdc_micro)} USDC`],
        ['accounts', `${decimal(answer.accounts_usdc_micro)} USDC`],
        ['collateral', `${decimal(answer.collateral_usdc_micro)} USDC`],
        ['fees', `${decimal(answer.fees_usdc_micro)} USDC`],
        ...(answer.chain === undefined ? [] : [['chain', chainWords(answer.chain)] as const]),
      ]);
      const differences = answer.chain?.differences?.length ?? 0;
      return { value: answer, lines, isBad: !answer.balanced || differences > 0 };
    },
  }),
  command({
    name: 'admin metrics',
    summary: 'Print the metrics, all or those whose name has a word in it',
    arguments: { word: { description: 'a part of the name: disk', optional: true } },
    examples: ['admin metrics', 'admin metrics lag'],
    json: 'a list of lines in the text format of Prometheus',
    run: async (context, { word = '' }) => {
      const isNamed = (line: string): boolean => !line.startsWith('#') && line.split(/[{ ]/)[0].includes(word);
      const text = await context.admin().metrics();
      const lines = text.trimEnd().split('\n');
      const shown = word === '' ? lines : lines.filter(isNamed);
      return { value: shown, lines: shown, isBad: shown.length === 0 };
    },
  }),
  command({
    name: 'admin drill',
    summary: 'Let placing be refused with an error, so that clients can practise it',
    arguments: {
      refusal: { description: 'the error', choices: DRILLS },
      state: { description: 'on or off', choices: ['on', 'off'] },
    },
    examples: ['admin drill NOT_MATCHING_LEADER on'],
    json: 'the answer of POST /admin/platform/drills',
    run: async (context, { refusal, state }) => {
      const answer = await context.admin().setDrill(refusal, state === 'on');
      return { value: answer, lines: [`drills: ${answer.drills.join(' ') || 'none'}`] };
    },
  }),
  command({
    name: 'admin alert test',
    summary: 'Let an alert ring, to see that it reaches the person on call',
    json: 'the answer of POST /admin/platform/alert-test',
    run: async (context) => {
      const answer = await context.admin().testAlert();
      return { value: answer, lines: [`TestAlert rings until ${answer.until}`] };
    },
  }),
  ...ADMIN_BACKUPS,
  command({
    name: 'admin approvals list',
    summary: 'List changes that wait for a second operator, or were decided by one',
    options: PAGE_OPTIONS,
    json: 'the answer of GET /admin/approvals',
    run: async (context, { limit, cursor }) => {
      const query = { limit: optionalNumber('limit', limit), cursor: optionalNumber('cursor', cursor) };
      const answer = await context.admin().approvals(query);
      const rows = answer.approvals.map((row) => [
        row.id,
        row.kind,
        row.status,
        row.requested_by,
        row.decided_by,
        row.expires_at,
      ]);
      const head = ['approval', 'what', 'status', 'asked by', 'decided by', 'until'];
      return { value: answer, lines: [...columns(head, rows, 'no approvals'), ...nextLine(answer.next_cursor)] };
    },
  }),
  command({
    name: 'admin approvals show',
    summary: 'Show what is carried out when it is approved, complete',
    arguments: ID,
    examples: ['admin approvals show 0190a0b0-…'],
    json: 'the answer of GET /admin/approvals/{id}',
    run: async (context, { id }) => {
      const answer = await context.admin().approval(id);
      return { value: answer, lines: JSON.stringify(answer, null, 2).split('\n') };
    },
  }),
  ...(['approve', 'reject'] as const).map((name) =>
    command({
      name: `admin approvals ${name}`,
      summary: name === 'approve' ? 'Carry out what another operator has asked for' : 'Refuse what another asked for',
      arguments: ID,
      examples: [`admin approvals ${name} 0190a0b0-…`],
      json: `the answer of POST /admin/approvals/{id}/${name}`,
      run: async (context, { id }) => {
        const answer = await context.admin()[name](id);
        const failure = answer.failure === null ? '' : `: ${answer.failure.error}`;
        return { value: answer, lines: [`${answer.kind} ${answer.status}${failure}`], isBad: answer.failure !== null };
      },
    }),
  ),
  command({
    name: 'admin audit',
    summary: 'List what operators have changed, the newest first',
    options: {
      operator: { value: 'name', description: 'only of this operator' },
      path: { value: 'start', description: 'only routes that begin so: /admin/users' },
      since: { value: 'time', description: 'from this time on' },
      until: { value: 'time', description: 'before this time' },
      ...PAGE_OPTIONS,
    },
    examples: ['admin audit --limit 20', 'admin audit --operator ada --since 2026-10-01T00:00:00Z --json'],
    json: 'the answer of GET /admin/audit',
    run: async (context, { limit, ...filters }) => {
      const answer = await context.admin().audit({ ...filters, limit: limit ? numberOf('limit', limit) : undefined });
      const rows = answer.records.map((row) => [
        row.sequence,
        row.time,
        row.event,
        row.operator,
        row.method === undefined ? (row.error ?? '') : `${row.method} ${row.path}`,
        row.status,
      ]);
      const lines = columns(['record', 'time', 'event', 'operator', 'what', 'status'], rows, 'no records');
      return { value: answer, lines: [...lines, ...nextLine(answer.next_cursor)] };
    },
  }),
  command({
    name: 'admin operators list',
    summary: 'List the operators and their roles',
    json: 'the answer of GET /admin/operators',
    run: async (context) => {
      const answer = await context.admin().operators();
      const rows = answer.operators.map((row) => [
        row.id,
        row.name,
        row.roles.join(' '),
        row.created_by,
        row.revoked_at === null ? 'active' : 'revoked',
      ]);
      return { value: answer, lines: columns(['operator', 'name', 'roles', 'made by', 'state'], rows, 'no operators') };
    },
  }),
  command({
    name: 'admin operators create',
    summary: 'Make an operator; the token is shown this once',
    arguments: { name: { description: 'a word: ada' } },
    options: {
      roles: { value: 'names', description: 'what it may do', choices: ROLES, many: true, required: true },
      'token-to': { value: 'file', description: 'write the token into this file and show it to nobody', file: true },
    },
    examples: [
      'admin operators create ada --roles catalogue,treasury --json',
      'admin operators create prometheus --roles viewer --token-to prometheus.token',
    ],
    json: 'the answer of POST /admin/operators',
    run: async (context, { name, roles, 'token-to': file }) => {
      // The file is opened before the request, because the token is shown only once; an existing file keeps its owner.
      const opened = file === undefined ? null : openSync(file, 'a', OWNER_ONLY);
      const answer = await context.admin().createOperator({ name, roles });
      const { token, ...rest } = answer;
      if (opened !== null) {
        ftruncateSync(opened);
        writeSync(opened, token);
        closeSync(opened);
      }
      const shown: [string, string] = opened === null ? ['token', token] : ['token in', file!];
      return {
        value: opened === null ? answer : rest,
        lines: facts([['operator', answer.id], ['name', answer.name], shown]),
      };
    },
  }),
  command({
    name: 'admin operators revoke',
    summary: 'Revoke an operator at once',
    arguments: { id: { description: 'the id of the operator' } },
    examples: ['admin operators revoke opr_…'],
    json: 'the answer of DELETE /admin/operators/{id}',
    run: async (context, { id }) => {
      const answer = await context.admin().revokeOperator(id);
      return { value: answer, lines: [`${answer.name} is revoked`] };
    },
  }),
];

/** The name of the stage in the API. */
function stageOf(words: string): StageName {
  return words.replace('-', '_') as StageName;
}

function wordsOf(stage: StageName): string {
  return stage.replace('_', '-');
}

function countsText({ open, post_only, cancel_only }: PlatformStages['stages']): string {
  return `${open} open, ${post_only} post-only, ${cancel_only} cancel-only`;
}

function chainWords({ block, differences }: NonNullable<Ledger['chain']>): string {
  if (differences === null) return 'settlement does not answer';
  if (block === null) return 'not compared yet';
  return differences.length === 0
    ? `equal at block ${block}`
    : `${differences.length} balances DIFFER at block ${block}`;
}
