import htm from "htm";
import { h } from "preact";

/** Templates for preact: what is put into them becomes text or an attribute, never markup. */
export const html = htm.bind(h);
