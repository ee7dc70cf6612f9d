import { useEffect } from "preact/hooks";
import { hasField } from "./filters.ts";

const NAME = "search";

/** Marks what was searched for, wherever it stands in the page, without touching the page: on each render. */
export function useHighlight(q: string): void {
  useEffect(() => {
    // A browser that cannot mark finds all the same.
    if (!("highlights" in CSS)) return;
    const words = q
      .split(/\s+/)
      .map((word) => (hasField(word) && word.split(":")[0] !== "phone" ? "" : word.replace(/^phone:/, "")))
      .filter(Boolean);
    const text = words.join(" ").toLowerCase();
    if (text === "") CSS.highlights.delete(NAME);
    else CSS.highlights.set(NAME, new Highlight(...rangesOf(text)));
  });
}

function rangesOf(text: string): Range[] {
  const main = document.querySelector("main");
  if (main === null) return [];
  const ranges: Range[] = [];
  const nodes = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node !== null; node = nodes.nextNode()) {
    for (const [from, to] of placesOf(node.textContent ?? "", text)) {
      const range = new Range();
      range.setStart(node, from);
      range.setEnd(node, to);
      ranges.push(range);
    }
  }
  return ranges;
}

/** Where `text` stands in `within`; a phone number by its digits, however it is written. */
function placesOf(within: string, text: string): [from: number, to: number][] {
  const digits = text.replaceAll(/\D/g, "");
  const isPhone = digits.length >= 7 && /^[\d\s().+/-]+$/.test(text);
  const escaped = (one: string) => one.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const pattern = isPhone ? digits.split("").join(String.raw`[\s().\/-]{0,3}`) : escaped(text);
  return [...within.matchAll(new RegExp(pattern, "gi"))].map((match) => [
    match.index,
    match.index + match[0].length,
  ]);
}
