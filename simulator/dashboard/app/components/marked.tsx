/** Words between backticks as code. */
export function Marked({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part));
}
