/**
 * The records between the gateway thread and a front thread (RECORDS.md): calls, sockets and connections, by two rings.
 * Both threads are of one process and one version, so these records have none.
 *
 * A call has a slot of its front thread, and keeps it when it becomes a socket. A slot is used again, so
 * every record also has the serial number of the call: what comes for one that is over is dropped.
 */
import { bytes, family, member, record, u32, unused } from '../../shared/wire/layout.ts';
import { HMAC_BLOCK_BYTES } from '../base/hmacKey.ts';

const HEADER = {
  length: u32('bytes, a multiple of 8'),
  type: u32(),
  slot: u32('of the call or socket in its thread'),
  serial: u32('of the call; of the connection in OPENED and ADMITTED, of the question in SETTLE and SETTLED'),
};
const NO_FIELDS = {};

export const ANY_FRONT = record('ANY_FRONT', HEADER, 'The header of every record from and to a front thread.');

export const FROM_FRONT = family(HEADER, {
  OPENED: member(1, 'A connection has opened; nothing is read from it before the answer.', {
    peerBytes: u32('0: it was reset before it was accepted'),
    unused: unused(1),
    peer: bytes(16, 'its address'),
  }),
  CLOSED: member(2, 'One of the connections has closed.', NO_FIELDS),
  CALL: member(3, 'A request without its body; its text follows.', {
    bits: u32('CALL_BIT_*'),
    peerBytes: u32(),
    peer: bytes(16),
    textBytes: u32('method, path, query, and name and value of each header: UTF-8, a carriage return between two'),
    unused: unused(1),
  }),
  BODY: member(4, 'A part of the body of a request; its bytes follow.', {
    isLast: u32(),
    bytes: u32(),
  }),
  GONE: member(5, 'The client of a call or socket has gone away.', NO_FIELDS),
  TAKEN: member(6, 'So many bytes of pieces or frames do not wait in the thread any more.', {
    bytes: u32(),
    unused: unused(1),
  }),
  MESSAGE: member(
    7,
    'A message on a socket; its bytes follow, of a message that is too long only so many as show it.',
    {
      isBinary: u32(),
      bytes: u32(),
    },
  ),
  PINGED: member(8, 'Pings on a socket in a turn of the thread, which have been answered.', {
    count: u32(),
    unused: unused(1),
  }),
  PONGED: member(9, 'Answers to pings, one or more.', NO_FIELDS),
  SETTLED: member(10, 'Everything that had arrived before SETTLE came has been passed on.', NO_FIELDS),
  READ_CALL: member(
    11,
    'A signed request about orders that has come whole: orders, text and body follow (front/readByFront.ts).',
    {
      verifiedWith: u32('the number of the secret with which its signature is right'),
      peerBytes: u32(),
      peer: bytes(16),
      orders: u32('those of a scanned body, each a PLACE without its header; 0: the body has to be parsed'),
      parts: u32('of the text: method, path, query, headers and names of the orders; before the text their lengths'),
      textBytes: u32('ASCII'),
      bodyBytes: u32('as its head has announced'),
    },
  ),
  KEY_WANTED: member(12, 'A request has come with a key of which the thread has no copy; the key id follows.', {
    idBytes: u32(),
    unused: unused(1),
  }),
});

export const TO_FRONT = family(HEADER, {
  ADMITTED: member(1, 'The answer to OPENED.', { verdict: u32('VERDICT'), unused: unused(1) }),
  ANSWER: member(2, 'Status, header and the start of the body of an answer: these bytes follow.', {
    bits: u32('ANSWER_BIT_*'),
    statusBytes: u32('0: 200 OK'),
    nameBytes: u32('of the first header'),
    valueBytes: u32('of its value, with the lines of all others after it'),
    bodyBytes: u32('of the body, in this record'),
    restBytes: u32('of the body, in pieces that follow'),
  }),
  PIECE: member(3, 'More of a body; its bytes follow.', { bits: u32('ANSWER_BIT_*'), bytes: u32() }),
  CUT: member(4, 'The connection of a call or socket is closed without a word.', NO_FIELDS),
  UPGRADE: member(5, 'The call becomes a socket; the name of its protocol follows.', {
    protocolBytes: u32('0: none'),
    unused: unused(1),
  }),
  FRAME: member(6, 'A message to the client of a socket, or a part of one; its bytes follow.', {
    bits: u32('FRAME_BIT_*'),
    bytes: u32(),
  }),
  END: member(7, 'A socket is closed; the reason follows.', { code: u32('of RFC 6455'), reasonBytes: u32() }),
  PING: member(8, 'A ping is sent on a socket.', NO_FIELDS),
  SETTLE: member(9, 'Is answered with SETTLED.', NO_FIELDS),
  KEY: member(10, 'A key with which signatures can be checked; the key id follows.', {
    number: u32('of its secret'),
    idBytes: u32(),
    innerBlock: bytes(HMAC_BLOCK_BYTES),
    outerBlock: bytes(HMAC_BLOCK_BYTES),
  }),
});

export const CALL_BIT_QUERY = 1;
export const CALL_BIT_UPGRADE = 2;
/** Between the parts of the text of a call: no header, path or method can have it. */
export const TEXT_SEPARATOR = '\r';

export const VERDICT = {
  REFUSED: 0,
  ADMITTED: 1,
  /** Admitted, and closed when no request comes within two seconds: connections are scarce. */
  WATCHED: 2,
  /** Of no connection: those that are watched need not be any more. */
  CALM: 3,
} as const;
export type Verdict = (typeof VERDICT)[keyof typeof VERDICT];

/** The body ends with these bytes; otherwise it is written in pieces. */
export const ANSWER_BIT_LAST = 1;
/** The connection ends with the answer. */
export const ANSWER_BIT_CLOSES = 2;
/** An answer without a body: its length, if it has one, is in the header. */
export const ANSWER_BIT_BODILESS = 4;

export const FRAME_BIT_BINARY = 1;
/** The rest of the message follows. */
export const FRAME_BIT_MORE = 2;

/** Of a body or message in one record. */
export const MOST_BYTES = 256 * 1024;
/** Two in each thread, one in each direction. */
export const RING_BYTES = 4 * 1024 * 1024;
