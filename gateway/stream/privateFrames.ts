/** The text of private frames (RULES.md 8.9), from their records. */
import { CLOSE_REASON_NAMES, ORDER_STATUS_NAMES, SIDE, SIDE_NAMES } from '../../shared/base/codes.ts';
import { fillTime } from '../../shared/base/fillTimes.ts';
import { HASH_BYTES, toHex } from '../../shared/base/hex.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { kindOutcome, kindSide } from '../../shared/wire/commands.ts';
import * as prv from '../../shared/wire/privateRecord.ts';
import { readSafe } from '../../shared/wire/record.ts';

type MarketFacts = { id(market: number): string; ticksPerUnit(market: number): number };
/** A group is never removed or renamed, so frames need not keep its name. */
export type GroupNames = { nameOf(group: number): string | undefined };

export function privateFrame(markets: MarketFacts, groups: GroupNames, record: prv.RecordView): string {
  const { words, word } = record;
  const isFill = words[word + prv.PRIVATE_FRAME.kind] === prv.PRIVATE_KIND.FILL;
  const channel = isFill ? 'fill' : 'order_status';
  const userSequence = readSafe(words, word + prv.PRIVATE_FRAME.userSequence);
  const key = orderKey(groups, record);
  const data = isFill ? fillData(markets, words, word) : statusData(markets, words, word);
  const timeMs = readSafe(words, word + prv.PRIVATE_FRAME.timeMs);
  return `{"channel":"${channel}","user_sequence":${userSequence},"timestamp":${timeMs},"data":{${key},${data}}}`;
}

/** The data of a fill, in terms of the order's own outcome. The fee is in the asset that the party receives. */
function fillData(markets: MarketFacts, words: Uint32Array, word: number): string {
  const market = words[word + prv.PRIVATE_FRAME.market];
  const ticksPerUnit = markets.ticksPerUnit(market);
  const kind = words[word + prv.PRIVATE_FRAME.orderKind];
  const ticks = words[word + prv.FILL_FRAME.ticks];
  const lots = readSafe(words, word + prv.FILL_FRAME.lots);
  const tradeSequence = readSafe(words, word + prv.FILL_FRAME.tradeSequence);
  const timeMs = readSafe(words, word + prv.PRIVATE_FRAME.timeMs);
  const tradeId = timeOrderedId(
    timeMs,
    prv.shardOf(words[word + prv.PRIVATE_FRAME.shard]),
    ID_KIND.TRADE,
    tradeSequence,
  );
  const role = words[word + prv.FILL_FRAME.role];
  const afterMicros = prv.afterMicrosOf(role);
  const time = afterMicros === null ? '' : `,"filled_at":"${fillTime(timeMs, afterMicros)}"`;
  return (
    `"trade_id":"${tradeId}","market_id":"${markets.id(market)}"${time}` +
    `,"role":"${prv.ROLE_NAMES[prv.roleOf(role)]}","party_side":"${SIDE_NAMES[kindSide(kind)]}"` +
    `,"party_outcome_index":${kindOutcome(kind)},"price":"${tickToPrice(ticks, ticksPerUnit)}"` +
    `,"token_quantity_atomic":"${mulSafe(lots, ticksPerUnit)}","notional_usdc_micro":"${mulSafe(lots, ticks)}"` +
    `,"fee_amount":"${readSafe(words, word + prv.FILL_FRAME.fee)}"` +
    `,"fee_asset":"${kindSide(kind) === SIDE.BUY ? 'TOKEN' : 'USDC'}"` +
    `,"remaining":"${readSafe(words, word + prv.PRIVATE_FRAME.remaining)}","status":"${statusName(words, word)}"`
  );
}

function statusData(markets: MarketFacts, words: Uint32Array, word: number): string {
  const reason = words[word + prv.STATUS_FRAME.reason];
  return (
    `"market_id":"${markets.id(words[word + prv.PRIVATE_FRAME.market])}"` +
    `,"status":"${statusName(words, word)}","remaining":"${readSafe(words, word + prv.PRIVATE_FRAME.remaining)}"` +
    `,"filled_amount":"${readSafe(words, word + prv.STATUS_FRAME.filled)}"` +
    `,"reason":"${reason === prv.REASON_PLACED ? prv.PLACED_NAME : CLOSE_REASON_NAMES[reason]}"`
  );
}

/** The ids of the order, and the ids and names that its client gave it. */
function orderKey(groups: GroupNames, record: prv.RecordView): string {
  const { words, word } = record;
  const createdMs = readSafe(words, word + prv.PRIVATE_FRAME.createdMs);
  const sequence = readSafe(words, word + prv.PRIVATE_FRAME.orderSequence);
  const orderId = timeOrderedId(
    createdMs,
    prv.idShardOf(words[word + prv.PRIVATE_FRAME.shard]),
    ID_KIND.ORDER,
    sequence,
  );
  const hash = new Uint8Array(words.buffer, words.byteOffset + (word + prv.PRIVATE_FRAME.hash) * 4, HASH_BYTES);
  const clientId = prv.clientIdOf(record);
  const group = groups.nameOf(words[word + prv.PRIVATE_FRAME.group]);
  return (
    `"order_id":"${orderId}","order_hash":"${toHex(hash)}"` +
    (clientId === null ? '' : `,"client_order_id":${JSON.stringify(clientId)}`) +
    (group === undefined ? '' : `,"order_group":${JSON.stringify(group)}`)
  );
}

function statusName(words: Uint32Array, word: number): string {
  return ORDER_STATUS_NAMES[words[word + prv.PRIVATE_FRAME.status]];
}
