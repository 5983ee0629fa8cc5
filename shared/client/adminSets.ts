/** The administrator's requests about event sets (RULES.md 19). */
import type { AdminRequests } from './adminRequests.ts';
import type { EventSet, NewEventSet, SetResolution } from './types.ts';

export class AdminSets {
  readonly #requests: AdminRequests;

  constructor(requests: AdminRequests) {
    this.#requests = requests;
  }

  /** Makes a set with all of its markets. */
  create(set: NewEventSet): Promise<EventSet> {
    return this.#requests.send('POST', '/admin/event-sets', set);
  }

  /** Decides all markets of a set at once. Throws ApprovalNeededError, as withdraw. */
  resolve(eventId: string, resolution: SetResolution): Promise<EventSet> {
    return this.#requests.sendOrAsk('POST', `/admin/event-sets/${encodeURIComponent(eventId)}/resolve`, resolution);
  }

  /** Ends a set whose question has no answer: without `payouts`, every Yes that is left pays an equal part. */
  cancel(eventId: string, payouts?: SetResolution['payouts']): Promise<EventSet> {
    return this.#requests.sendOrAsk('POST', `/admin/event-sets/${encodeURIComponent(eventId)}/cancel`, { payouts });
  }

  /** Pays every holder of a decided set who has not claimed. */
  settle(eventId: string): Promise<EventSet> {
    return this.#requests.send('POST', `/admin/event-sets/${encodeURIComponent(eventId)}/settle`);
  }
}
