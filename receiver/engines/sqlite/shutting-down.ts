/** Why the signal of a handler is aborted when the receiver stops. */
export class ShuttingDown extends Error {
  override readonly name = "ShuttingDown";

  constructor() {
    super("The receiver is shutting down: the event goes back to the inbox, and this attempt doesn't count.");
  }
}
