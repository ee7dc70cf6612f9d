import type { PlantedBug } from "./planted-bug.ts";

/** Bugs in the signature and in what else both programs share: `shared/`. */
export const plantedInSignature: PlantedBug[] = [
  {
    breaks: "R2: anybody's event is stored, since the signature is not compared.",
    file: "shared/signature.ts",
    find: "timingSafeEqual(",
    replace: "((..._two: Uint8Array[]) => true)(",
    tests: ["test/shared/signature.test.ts"],
  },
  {
    breaks: "R2: a webhook that somebody recorded an hour ago can be sent again.",
    file: "shared/signature.ts",
    find: "if (ageSeconds > SIGNATURE_TOLERANCE_SECONDS)",
    replace: "if (ageSeconds > SIGNATURE_TOLERANCE_SECONDS * 13)",
    tests: ["test/simulation/receiver.slow.test.ts", "-t", "break no promise"],
  },
  {
    breaks: "R2: an event id with anything behind its digits is stored as an event.",
    file: "shared/events.ts",
    find: "/^evt_[0-9a-fA-F]{32}$/",
    replace: "/^evt_[0-9a-fA-F]{32}/",
    tests: ["test/shared/contract.test.ts", "test/receiver/answers.test.ts"],
  },
  {
    breaks: "A timestamp with anything behind its Z counts as one of the service's.",
    file: "shared/resources.ts",
    find: "T\\d{2}:\\d{2}:\\d{2}Z$/",
    replace: "T\\d{2}:\\d{2}:\\d{2}Z/",
    tests: ["test/shared/contract.test.ts"],
  },
  {
    breaks: "A program that listens at all addresses of IPv6 is called by IPv4, and seems not to be there.",
    file: "shared/host.ts",
    find: 'host === "::" ? "[::1]" : "127.0.0.1"',
    replace: '"127.0.0.1"',
    tests: ["test/shared/host.test.ts"],
  },
  {
    breaks: "What a stranger wrote goes into a CI log as a command of the runner.",
    file: "shared/printable.ts",
    find: "/^[\\n\\x20-\\x22\\x24-\\x7e]*$/",
    replace: "/^[\\n\\x20-\\x7e]*$/",
    tests: ["test/shared/printable.test.ts"],
  },
  {
    breaks: "What a stranger wrote goes into a CI log as a command, behind a blank.",
    file: "shared/printable.ts",
    find: "/^(\\s*):(?=:)/",
    replace: "/^():(?=:)/",
    tests: ["test/shared/printable.test.ts"],
  },
  {
    breaks: "What a stranger wrote turns the direction of the terminal's text.",
    file: "shared/printable.ts",
    find: "\\p{Cf}\\p{Cs}",
    replace: "\\p{Cs}",
    tests: ["test/shared/printable.test.ts"],
  },
];
