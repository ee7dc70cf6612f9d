/** One way in which code departs from the rule of SPEC §6 Signature. */
export type Deviation = {
  /** A stable name for programs. */
  id: string;
  /** What went wrong, as a whole sentence. */
  title: string;
  /** What to do about it. */
  fix: string;
};
