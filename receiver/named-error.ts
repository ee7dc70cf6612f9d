/** An error that is told of by this name, as in `DeadlinePassed: …`, and that nobody has to tell from others. */
export function namedError(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
