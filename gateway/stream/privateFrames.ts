/** The text of private frames (RULES.md 8.9), from what privateRecord.ts keeps of them. */
import { CLOSE_REASON_NAMES, ORDER_STATUS_NAMES, SIDE, SIDE_NAMES } from '../../shared/codes.ts';
import { kindOutcome, kindSide } from '../../shared/commands.ts';
import { HASH_BYTES, toHex } from '../../shared/hex.ts';
import { ID_KIND, timeOrderedId } from '../../shared/ids.ts';
import { mulSafe } from '../../shared/int.ts';
import * as prv from '../../shared/privateRecord.ts';
import { readSafe } from '../../shared/record.ts';
import { tickToPrice } from '../../shared/units.ts';

type MarketFacts = { id(market: number): string; ticksPerUnit(market: number): number };
/** A group is never removed and never renamed, so its name is that of every frame there is. */
export type GroupNames = { nameOf(group: number): string | undefined };

export function privateFrame(markets: MarketFacts, groups: GroupNames, place: prv.RecordPlace): string {
  const { words, word } = place;
  const isFill = words[word + prv.PRV_KIND] === prv.PRIVATE_KIND.FILL;
  const channel = isFill ? 'fill' : 'order_status';
  const userSequence = readSafe(words, word + prv.PRV_USER_SEQUENCE);
  const key = orderKey(groups, place);
  const data = isFill ? fillData(markets, words, word) : statusData(markets, words, word);
  const timeMs = readSafe(words, word + prv.PRV_TIME_MS);
  return `{"channel":"${channel}","user_sequence":${userSequence},"timestamp":${timeMs},"data":{${key},${data}}}`;
}

/** In terms of the order's own outcome; the fee is in what the party receives. */
function fillData(markets: MarketFacts, words: Uint32Array, word: number): string {
  const market = words[word + prv.PRV_MARKET]!;
  const ticksPerUnit = markets.ticksPerUnit(market);
  const kind = words[word + prv.PRV_ORDER_KIND]!;
  const ticks = words[word + prv.PRV_TICKS]!;
  const lots = readSafe(words, word + prv.PRV_LOTS);
  const tradeSequence = readSafe(words, word + prv.PRV_TRADE_SEQUENCE);
  const timeMs = readSafe(words, word + prv.PRV_TIME_MS);
  const tradeId = timeOrderedId(timeMs, words[word + prv.PRV_SHARD]!, ID_KIND.TRADE, tradeSequence);
  return (
    `"trade_id":"${tradeId}","market_id":"${markets.id(market)}"` +
    `,"role":"${prv.ROLE_NAMES[words[word + prv.PRV_ROLE]!]}","party_side":"${SIDE_NAMES[kindSide(kind)]}"` +
    `,"party_outcome_index":${kindOutcome(kind)},"price":"${tickToPrice(ticks, ticksPerUnit)}"` +
    `,"token_quantity_atomic":"${mulSafe(lots, ticksPerUnit)}","notional_usdc_micro":"${mulSafe(lots, ticks)}"` +
    `,"fee_amount":"${readSafe(words, word + prv.PRV_FEE)}"` +
    `,"fee_asset":"${kindSide(kind) === SIDE.BUY ? 'TOKEN' : 'USDC'}"` +
    `,"remaining":"${readSafe(words, word + prv.PRV_REMAINING)}","status":"${statusName(words, word)}"`
  );
}

function statusData(markets: MarketFacts, words: Uint32Array, word: number): string {
  const reason = words[word + prv.PRV_REASON]!;
  return (
    `"market_id":"${markets.id(words[word + prv.PRV_MARKET]!)}"` +
    `,"status":"${statusName(words, word)}","remaining":"${readSafe(words, word + prv.PRV_REMAINING)}"` +
    `,"filled_amount":"${readSafe(words, word + prv.PRV_FILLED)}"` +
    `,"reason":"${reason === prv.REASON_PLACED ? prv.PLACED_NAME : CLOSE_REASON_NAMES[reason]}"`
  );
}

/** Its ids, and what its client calls it. */
function orderKey(groups: GroupNames, place: prv.RecordPlace): string {
  const { words, word } = place;
  const createdMs = readSafe(words, word + prv.PRV_CREATED_MS);
  const sequence = readSafe(words, word + prv.PRV_ORDER_SEQUENCE);
  const orderId = timeOrderedId(createdMs, words[word + prv.PRV_SHARD]!, ID_KIND.ORDER, sequence);
  const hash = new Uint8Array(words.buffer, words.byteOffset + (word + prv.PRV_HASH) * 4, HASH_BYTES);
  const clientId = prv.clientIdOf(place);
  const group = groups.nameOf(words[word + prv.PRV_GROUP]!);
  return (
    `"order_id":"${orderId}","order_hash":"${toHex(hash)}"` +
    (clientId === null ? '' : `,"client_order_id":${JSON.stringify(clientId)}`) +
    (group === undefined ? '' : `,"order_group":${JSON.stringify(group)}`)
  );
}

function statusName(words: Uint32Array, word: number): string {
  return ORDER_STATUS_NAMES[words[word + prv.PRV_STATUS]!]!;
}
