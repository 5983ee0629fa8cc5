/**
 * Deployments of markets that are under way, or that were given up (RULES.md 9.19). A finished deployment is not kept
 * here: the details of its market name the condition. Owner: the gateway thread. It uses rows of the catalogue
 * (catalog.ts), written in the catalogue's transactions.
 */
import type { DEPLOY_STATUS_NAMES } from '../../shared/base/codes.ts';
import type { ControlDatabase } from '../base/database.ts';

type DeployStatusName = (typeof DEPLOY_STATUS_NAMES)[number];

/** Null if deployed, or never requested. */
export type DeploymentState = {
  readonly status: Exclude<DeployStatusName, 'not_deployed' | 'deployed'>;
  /** Attempts after the first. */
  readonly retries: number;
} | null;

type DeploymentRow = NonNullable<DeploymentState> & { readonly market_index: number };

export class DeploymentRows {
  readonly #database: ControlDatabase;
  readonly #replace;
  readonly #delete;
  readonly #select;

  constructor(database: ControlDatabase) {
    this.#database = database;
    this.#replace = database.prepare<DeploymentRow>(
      'INSERT OR REPLACE INTO deployments VALUES ($market_index, $status, $retries)',
    );
    this.#select = database.prepare<[number], DeploymentRow>('SELECT * FROM deployments WHERE market_index = ?');
    this.#delete = database.prepare<[number]>('DELETE FROM deployments WHERE market_index = ?');
  }

  set(marketIndex: number, state: DeploymentState): void {
    if (state === null) this.#delete.run(marketIndex);
    else this.#replace.run({ market_index: marketIndex, ...state });
  }

  of(marketIndex: number): DeploymentState {
    const row = this.#select.get(marketIndex);
    return row === undefined ? null : { status: row.status, retries: row.retries };
  }

  all(): DeploymentRow[] {
    return this.#database.prepare<[], DeploymentRow>('SELECT * FROM deployments ORDER BY market_index').all();
  }
}

/** The status in answers. A market whose condition has a name is deployed. */
export function deployStatus(market: {
  readonly details: { readonly condition_id?: string | undefined };
  readonly deployment: DeploymentState;
}): DeployStatusName {
  if (market.details.condition_id !== undefined) return 'deployed';
  return market.deployment?.status ?? 'not_deployed';
}
