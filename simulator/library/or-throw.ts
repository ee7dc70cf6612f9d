/** What was done; throws with what to do instead where it was refused. */
export function orThrow<Result extends { ok: boolean }>(result: Result): Extract<Result, { ok: true }> {
  if (isDone(result)) return result;
  throw new Error(
    "message" in result && typeof result.message === "string" ? result.message : "It was refused.",
  );
}

function isDone<Result extends { ok: boolean }>(result: Result): result is Extract<Result, { ok: true }> {
  return result.ok;
}
