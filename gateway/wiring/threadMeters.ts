/**
 * Adds up the request meters of all threads for the metrics: those of the gateway thread, and those of the fronts for
 * requests that they answer themselves. When a front ends, its counts are added to those of the gateway thread.
 * Owner: the gateway thread.
 */

import type { Limiter } from '../access/limiter.ts';
import type { Logger } from '../base/log.ts';
import type { FrontImage } from '../front/threadOptions.ts';
import type { FrontThreads } from '../front/threads.ts';
import { addImage, sumOf } from '../http/metersImage.ts';
import { RequestMeters } from '../http/requestMeters.ts';
import type { HttpServer } from '../http/server.ts';
import type { RouteSpec } from '../http/spec.ts';

type ThreadMetersOptions = {
  readonly server: Pick<HttpServer, 'meters' | 'calls'>;
  /** Null without front threads. */
  readonly fronts: Pick<FrontThreads, 'images' | 'refresh'> | null;
  /** Null if nothing is limited. */
  readonly limiter: Pick<Limiter, 'decisions'> | null;
  readonly log: Logger;
};

export class ThreadMeters {
  readonly #options: ThreadMetersOptions;
  /** Null if the sum has to be computed again. */
  #sum: RequestMeters | null = null;

  constructor(options: ThreadMetersOptions) {
    this.#options = options;
  }

  /** Resolves when the other members show what every thread has counted by now. */
  async refresh(): Promise<void> {
    await this.#options.fronts?.refresh();
    this.#sum = null;
  }

  get requests(): RequestMeters {
    const { server, log } = this.#options;
    const images = this.#images.map(({ meters }) => meters);
    if (images.length === 0) return server.meters;
    this.#sum ??= sumOf(server.meters, images, this.#routeOf, new RequestMeters(0, log));
    return this.#sum;
  }

  get limiter(): Pick<Limiter, 'decisions'> | null {
    const { limiter } = this.#options;
    const images = this.#images;
    if (limiter === null || images.length === 0) return limiter;
    const decisions = { ...limiter.decisions };
    for (const image of images) addDecisions(decisions, image);
    return { decisions };
  }

  /** Keeps the counts of a front that has ended. */
  keep(image: FrontImage): void {
    const { server, limiter } = this.#options;
    addImage(server.meters, image.meters, this.#routeOf);
    if (limiter !== null) addDecisions(limiter.decisions, image);
  }

  get #images(): readonly FrontImage[] {
    return this.#options.fronts?.images ?? [];
  }

  readonly #routeOf = (method: string, path: string): RouteSpec => this.#options.server.calls.rowOf(method, path).route;
}

function addDecisions(to: Record<string, number>, { decisions }: FrontImage): void {
  for (const [decision, count] of Object.entries(decisions)) to[decision] = (to[decision] ?? 0) + count;
}
