/** An error with this name in its text, as in `DeadlinePassed: …`, for errors that no code has to catch by type. */
export function namedError(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
