/** What a tool answers: text, bounded, since whoever asks pays for each character. */
export type Answer = { content: { type: "text"; text: string }[]; isError?: boolean };

const MOST_CHARACTERS = 20_000;

/** A JSON value as an answer; of one that is too long the beginning, and that there is more. */
export function answer(value: unknown): Answer {
  return { content: [{ type: "text", text: bounded(JSON.stringify(value, null, 1)) }] };
}

/** A text as an answer. */
export function answerText(text: string): Answer {
  return { content: [{ type: "text", text: bounded(text) }] };
}

/** What went wrong, and what to do; a hint never repeats the token. */
export function answerProblem(message: string, token: string | undefined): Answer {
  const text = token === undefined || token === "" ? message : message.replaceAll(token, "…");
  return { content: [{ type: "text", text: bounded(text) }], isError: true };
}

function bounded(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS)}\n… cut after ${MOST_CHARACTERS} of ${text.length} characters: ask for less.`;
}
