/** What the bundler makes of TSX. */
export { Fragment, h } from "preact";
