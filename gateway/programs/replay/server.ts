/**
 * Serves a recording as the stream that it was: every client of `/v1/ws` can read from a file. The protocol is that of
 * RULES.md 8 for one market and without private frames; the same code checks messages.
 * Owner: the thread of the replay.
 */
import type { WebSocket, WebSocketBehavior } from 'uWebSockets.js';
import { systemClock } from '../../../shared/base/clock.ts';
import { ERRORS, type ErrorRow } from '../../../shared/base/errors.ts';
import type { Recording } from '../../../shared/client/stream/recording.ts';
import { Door } from '../../http/door.ts';
import { HEARTBEAT_EVERY_MS, PACED_BUFFERED_BYTES, STREAM_PATH } from '../../stream/limits.ts';
import { parseRequest, type Request, type SubscribeData } from '../../stream/requests.ts';
import { Playback } from './playback.ts';

type Reader = { playback: Playback | null };
type Socket = WebSocket<Reader>;

const HOST = '127.0.0.1';

export class ReplayServer {
  readonly #recording: Recording;
  readonly #speed: number;
  readonly #readers = new Set<Socket>();
  #door: Door | null = null;
  #heartbeats: NodeJS.Timeout | undefined;

  /** @param speed recorded time per real time, or infinite. */
  constructor(recording: Recording, speed: number) {
    this.#recording = recording;
    this.#speed = speed;
  }

  /** @returns the port; 0 lets the system choose. */
  listen(port: number): Promise<number> {
    this.#heartbeats = setInterval(() => this.beat(), HEARTBEAT_EVERY_MS);
    this.#door = new Door({
      ...{ host: HOST, port, tls: null },
      webSocket: { path: STREAM_PATH, behavior: this.#behavior(), close: () => this.#closeSockets() },
      onOpened: () => true,
      onClosed: () => {},
      onRequest: (response, _request, upgrade) => {
        if (upgrade === null || upgrade.context === null) response.close();
        else {
          const { key, protocol, extensions, context } = upgrade;
          response.upgrade<Reader>({ playback: null }, key, protocol, extensions, context);
        }
      },
    });
    return this.#door.listen();
  }

  close(): void {
    clearInterval(this.#heartbeats);
    this.#closeSockets();
    this.#door?.stopListening();
  }

  /** Sends a heartbeat to every reader. */
  beat(): void {
    for (const socket of this.#readers) {
      const { playback } = socket.getUserData();
      if (playback === null) continue;
      const { sequence } = playback;
      const sequences = sequence === null ? {} : { [this.#recording.marketId]: sequence };
      answer(socket, 'heartbeat', undefined, { time: systemClock.nowMs(), sequences });
    }
  }

  #behavior(): WebSocketBehavior<Reader> {
    return {
      open: (socket) => void this.#readers.add(socket),
      message: (socket, message) => this.#received(socket, Buffer.from(message)),
      drain: (socket) => socket.getUserData().playback?.resume(),
      close: (socket) => {
        this.#readers.delete(socket);
        socket.getUserData().playback?.stop();
      },
    };
  }

  #closeSockets(): void {
    for (const socket of [...this.#readers]) socket.close();
  }

  #received(socket: Socket, bytes: Buffer): void {
    const parsed = parseRequest(bytes);
    if (parsed.ok) {
      this.#carryOut(socket, parsed.request);
      return;
    }
    const { row, message, details } = parsed.refusal;
    answer(socket, 'error', parsed.id, { code: row.code, error: message ?? row.message, details });
  }

  #carryOut(socket: Socket, request: Request): void {
    const reader = socket.getUserData();
    if (request.channel === 'ping') {
      answer(socket, 'pong', request.id, { time: systemClock.nowMs() });
    } else if (request.channel === 'unsubscribe') {
      if (request.data.markets?.some((id) => this.#isHere(id))) {
        reader.playback?.stop();
        reader.playback = null;
      }
      answer(socket, 'unsubscribed', request.id, this.#active(reader));
    } else if (request.channel === 'order') {
      const { code, message } = ERRORS.MISSING_API_KEY_HEADERS;
      answer(socket, 'error', request.id, { code, error: message });
    } else {
      const refusal = this.#refusal(request.data);
      if (refusal !== null) return answer(socket, 'error', request.id, { code: refusal.code, error: refusal.message });
      this.#subscribe(socket, request.data);
      answer(socket, 'subscribed', request.id, this.#active(reader));
    }
  }

  #refusal({ markets, user }: SubscribeData): ErrorRow | null {
    if (user === true) return ERRORS.MISSING_API_KEY_HEADERS;
    return markets?.every((id) => this.#isHere(id)) === false ? ERRORS.MARKET_NOT_FOUND : null;
  }

  /** Frames are sent in a later turn of the loop, after the answer. */
  #subscribe(socket: Socket, { markets, snapshot, from_sequence }: SubscribeData): void {
    if (markets === undefined || markets.length === 0) return;
    const reader = socket.getUserData();
    reader.playback ??= new Playback(this.#recording, this.#speed, {
      send: (text) => {
        socket.send(text);
        return socket.getBufferedAmount() < PACED_BUFFERED_BYTES;
      },
      ended: () => {},
    });
    const [from] = Object.values(from_sequence ?? {});
    if (from !== undefined) reader.playback.playAfter(from);
    else if (snapshot === true) reader.playback.playBook();
    else reader.playback.playOn();
  }

  #isHere(id: string): boolean {
    return id.toLowerCase() === this.#recording.marketId;
  }

  #active({ playback }: Reader): object {
    return { markets: playback === null ? [] : [this.#recording.marketId], user: false, cancel_on_disconnect: false };
  }
}

function answer(socket: Socket, channel: string, id: string | number | undefined, data: object): void {
  socket.send(JSON.stringify({ channel, id, data }));
}
