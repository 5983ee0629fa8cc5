/** The reason why a start fails, in one line for the operator, who can remove it; a stack would not help. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
