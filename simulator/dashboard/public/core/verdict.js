/** The simulator's verdict on a delivery: `result` is ok, not, unknown or waiting. */
export function verdictOf(delivery) {
  return delivery.verdict ?? stateVerdict(delivery);
}

function stateVerdict({ state, attempts }) {
  if (state === "delivered") return { result: "ok", sentence: "Acknowledged", why: null };
  if (state === "dead") return { result: "not", sentence: "Gave up after six attempts", why: null };
  return {
    result: attempts.some((attempt) => attempt.blame === "receiver") ? "not" : "waiting",
    sentence: "In progress",
    why: null,
  };
}
