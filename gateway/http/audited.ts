/**
 * The facts that the audit log records of an administrator's call besides its request (operator/auditStage.ts). The
 * stages make this record for administrators alone, and handlers add what they know.
 * Owner: the gateway thread.
 */
/** `whenRecorded` is called with whether the record is durable. */
type RecordResult = (status: number, body: string, whenRecorded: (isRecorded: boolean) => void) => void;

export class Audited {
  /** The client's address. */
  readonly address: string;
  /** The state that the call replaces, as an object or JSON; null if the handler knows none. */
  before: object | string | null = null;
  /** Recorded instead of the answer; null to record the answer itself. */
  answer: object | null = null;
  /** Records the result of a change before it is sent; null until the attempt is durable. */
  recordResult: RecordResult | null = null;

  constructor(address: string) {
    this.address = address;
  }
}

/** A call, of an administrator or of anyone else. */
type MaybeAudited = { readonly audited: Audited | null };

/** Notes the state that an administrator's call is about to replace. */
export function noteBefore({ audited }: MaybeAudited, state: object | string | null): void {
  if (audited !== null) audited.before = state;
}

/** Notes what is recorded of a change whose answer says too little. */
export function noteAnswer({ audited }: MaybeAudited, answer: object): void {
  if (audited !== null) audited.answer = answer;
}
