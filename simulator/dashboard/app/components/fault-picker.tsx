import { control } from "../core/api.ts";
import { useLoaded } from "../core/load.ts";
import { Select } from "./field.tsx";
import { Marked } from "./marked.tsx";

const PLACES = [
  ["fan-out", "When it is sent"],
  ["body", "In the body"],
  ["signature", "In the signature"],
  ["wire", "On the wire"],
];
const COUNTS: [count: string, words: string][] = [
  ["", "every attempt"],
  ["1", "the 1st attempt"],
  ...["2", "3", "4", "5"].map((count): [string, string] => [count, `the first ${count}`]),
];

type FaultPickerProps = { chosen: readonly string[]; onChange: (faults: string[]) => void };

/** What the simulator should do wrong on purpose; `chosen` are texts such as `drop-answer:2`. */
export function FaultPicker({ chosen, onChange }: FaultPickerProps) {
  const { value: faults } = useLoaded("faults", async () => (await control.get("/faults")).data);
  const counts = new Map(
    chosen.map((text) => text.split(":")).map(([name = "", count = ""]): [string, string] => [name, count]),
  );

  function set(name: string, count: string | undefined) {
    const next = new Map(counts);
    if (count === undefined) next.delete(name);
    else next.set(name, count);
    onChange([...next].map(([fault, attempts]) => (attempts === "" ? fault : `${fault}:${attempts}`)));
  }

  return (
    <div class="faults stack">
      {PLACES.map(([place, words]) => (
        <fieldset key={place}>
          <legend>{words}</legend>
          {(faults ?? [])
            .filter((fault) => fault.at === place)
            .map(({ name, title }) => (
              <div class="fault flex" key={name}>
                <label class="check">
                  <input
                    type="checkbox"
                    checked={counts.has(name)}
                    onChange={() => set(name, counts.has(name) ? undefined : "")}
                  />
                  <span>
                    <code>{name}</code>
                    <span class="muted small">
                      <Marked text={title} />
                    </span>
                  </span>
                </label>
                {counts.has(name) && (
                  <Select
                    aria-label={`Attempts with ${name}`}
                    value={counts.get(name) ?? ""}
                    options={COUNTS}
                    onChange={(count) => set(name, count)}
                  />
                )}
              </div>
            ))}
        </fieldset>
      ))}
    </div>
  );
}
