import { describeLoadError, loadHandlers } from "./module.ts";

/** A process that loads the handlers, prints their names or what is wrong as a line of JSON, and ends. */
const print = (line: object): void =>
  void process.stdout.write(`\n${JSON.stringify(line)}\n`, () => process.exit());
try {
  const { handlers, close } = await loadHandlers(undefined);
  await close();
  print({ handlers: handlers.map(({ name }) => name) });
} catch (error) {
  print({ problem: describeLoadError(error) });
}
