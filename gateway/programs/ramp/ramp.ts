/** Assembles the sandbox provider: its pages, its two interfaces, and the work that it does by itself. */
import type { Clock } from '../../../shared/base/clock.ts';
import { answerControl, MovedClock } from './controlApi.ts';
import { CustomerPages } from './customerPages.ts';
import { Desk } from './desk.ts';
import { Hooks, type SendHook } from './hooks.ts';
import { PartnerApi } from './partnerApi.ts';
import type { RampRail } from './rail.ts';
import { type Asked, jsonReply, type Reply } from './reply.ts';
import { RampServer } from './server.ts';
import { Settling } from './settling.ts';
import type { RampStore } from './store.ts';

const STEP_EVERY_MS = 500;

type RampOptions = {
  readonly store: RampStore;
  readonly rail: RampRail;
  readonly clock: Clock;
  readonly randomHex: (bytes: number) => string;
  readonly apiKey: string;
  readonly webhookSecret: string;
  readonly sendHook: SendHook;
  /** The address at which customers and the exchange reach it. */
  readonly url: URL;
  readonly returnOrigins: readonly string[];
  /** True if tests and the page may move its clock and make it misbehave. */
  readonly hasControl: boolean;
  readonly onError: (error: unknown) => void;
};

export class Ramp {
  readonly #options: RampOptions;
  readonly #clock: MovedClock;
  readonly #desk: Desk;
  readonly #settling: Settling;
  readonly #hooks: Hooks;
  readonly #partner: PartnerApi;
  readonly #pages: CustomerPages;
  readonly #server: RampServer;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RampOptions) {
    this.#options = options;
    const { store, rail, randomHex, apiKey, webhookSecret, sendHook, url, returnOrigins, onError } = options;
    this.#clock = new MovedClock(options.clock);
    this.#desk = new Desk({ store, rail, clock: this.#clock, randomHex });
    this.#settling = new Settling(this.#desk);
    this.#hooks = new Hooks(this.#desk, webhookSecret, sendHook);
    this.#partner = new PartnerApi({ desk: this.#desk, apiKey, url, returnOrigins });
    this.#pages = new CustomerPages(this.#desk, options.hasControl);
    this.#server = new RampServer({ answer: (asked) => this.#answer(asked), returnOrigins, onError });
  }

  /** @returns the port. */
  async listen(host: string, port: number): Promise<number> {
    const at = await this.#server.listen(host, port);
    this.#timer = setInterval(() => void this.step().catch(this.#options.onError), STEP_EVERY_MS);
    return at;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#server.close();
    this.#options.store.close();
  }

  /** Settles what can be settled and sends the events that are due, even if the rail does not answer. */
  async step(): Promise<void> {
    try {
      await this.#settling.tick();
    } finally {
      await this.#hooks.tick();
    }
  }

  async #answer(asked: Asked): Promise<Reply | null> {
    if (asked.path.startsWith('/v1/')) return this.#partner.answer(asked);
    if (!asked.path.startsWith('/control/') || !this.#options.hasControl) return this.#pages.answer(asked);
    if (!this.#partner.isPartner(asked)) return jsonReply(401, { error: 'the key is not that of the partner' });
    return answerControl({ desk: this.#desk, clock: this.#clock, step: () => this.step() }, asked);
  }
}
