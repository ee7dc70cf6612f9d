import type { ReceiverProcess } from "./receiver-process.ts";

export type Role = "intake" | "worker" | "operator";

/** The processes of a receiver: one intake and two workers, which are started anew when they die, and operators' commands. */
export function createCrew(options: {
  start: (role: Role) => ReceiverProcess;
  note: (text: string) => void;
  /** Takes the names of those that have died. */
  gone: Set<string>;
}) {
  const { start, note, gone } = options;
  let intake = start("intake");
  let workers = [start("worker"), start("worker")];
  let operators: ReceiverProcess[] = [];
  const all = (): ReceiverProcess[] => [intake, ...workers, ...operators];

  return {
    intake: (): ReceiverProcess => intake,
    workers: (): readonly ReceiverProcess[] => workers,
    startOperator: (): ReceiverProcess => {
      const operator = start("operator");
      operators.push(operator);
      return operator;
    },
    /** Buries what has died since, and starts anew what shall run. */
    restartTheDead: (): void => {
      for (const process of all()) {
        if (!process.isDead()) continue;
        note(`${process.name} is dead`);
        gone.add(process.name);
        process.close();
      }
      operators = operators.filter((operator) => !operator.isDead());
      if (intake.isDead()) intake = start("intake");
      workers = workers.map((worker) => (worker.isDead() ? start("worker") : worker));
    },
    /** Whoever was to be killed at one of its next statements lives on. */
    spareAll: (): void => {
      for (const process of all()) if (!process.isDead()) process.killAfter(Number.POSITIVE_INFINITY);
    },
    killAll: (): void => {
      for (const process of all()) process.killAfter(0);
    },
    close: (): void => {
      for (const process of all()) {
        process.killAfter(0);
        process.close();
      }
    },
  };
}
