/** Why a start cannot go on, in one line for whoever can do something about it; a stack would not help them. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
