import htm from "htm";
import { h } from "preact";

const build = htm.bind(h);
const collapsed = new WeakMap();

/**
 * Templates for preact: what is put into them becomes text or an attribute, never markup. White space means what it
 * means in HTML, a line break included, so that a formatter may wrap them as it likes.
 */
export function html(strings, ...values) {
  let statics = collapsed.get(strings);
  if (statics === undefined) {
    statics = strings.map((text) => text.replace(/\s*\n\s*/g, " "));
    statics[0] = statics[0].trimStart();
    statics[statics.length - 1] = statics[statics.length - 1].trimEnd();
    collapsed.set(strings, statics);
  }
  return build(statics, ...values);
}
