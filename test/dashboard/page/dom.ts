import { type ComponentChild, render } from "preact";
import { act } from "preact/test-utils";
import { vi } from "vitest";
import { loopTurns } from "../../helpers/loop-turns.ts";

type Listener = (this: Part, event: object) => unknown;

/** The part of an element or text node that Preact needs to render a component without a browser. */
export class Part {
  readonly nodeType: number;
  readonly localName: string;
  parentNode: Part | null = null;
  childNodes: Part[] = [];
  data = "";
  value = "";
  disabled = false;
  readonly style: Record<string, string> = {};
  readonly attributes = new Map<string, string>();
  private readonly listeners = new Map<string, Set<Listener>>();

  constructor(nodeType: number, localName: string) {
    [this.nodeType, this.localName] = [nodeType, localName];
  }
  get firstChild(): Part | null {
    return this.childNodes[0] ?? null;
  }
  get nextSibling(): Part | null {
    const all = this.parentNode?.childNodes ?? [];
    return all[all.indexOf(this) + 1] ?? null;
  }
  /** All its descendants, in document order. */
  get parts(): Part[] {
    return this.childNodes.flatMap((child) => [child, ...child.parts]);
  }
  get words(): string {
    return this.nodeType === 3 ? this.data : this.childNodes.map(({ words }) => words).join("");
  }
  insertBefore(child: Part, before: Part | null): void {
    child.remove();
    child.parentNode = this;
    this.childNodes.splice(
      before === null ? this.childNodes.length : this.childNodes.indexOf(before),
      0,
      child,
    );
  }
  remove(): void {
    const siblings = this.parentNode?.childNodes ?? [];
    if (siblings.includes(this)) siblings.splice(siblings.indexOf(this), 1);
  }
  setAttribute = (name: string, value: unknown): unknown => this.attributes.set(name, String(value));
  removeAttribute = (name: string): unknown => this.attributes.delete(name);
  addEventListener(name: string, listener: Listener): void {
    this.listeners.set(name, (this.listeners.get(name) ?? new Set()).add(listener));
  }
  removeEventListener = (name: string, listener: Listener): unknown =>
    this.listeners.get(name)?.delete(listener);
  matches = (): boolean => this.localName === "input";
  querySelector = (): null => null;
  focus = (): unknown => Object.assign(document, { activeElement: this });
  isConnected = true;
  showModal = (): void => undefined;
  close = (): void => undefined;
  /** Dispatches a user's event, and returns after its immediate effects are rendered. */
  async tell(type: string, more: object = {}): Promise<void> {
    const event = {
      type,
      target: this,
      currentTarget: this,
      preventDefault() {},
      stopPropagation() {},
      ...more,
    };
    await act(async () => {
      for (const listener of this.listeners.get(type) ?? []) listener.call(this, event);
      await loopTurns(20);
    });
  }
}

/** A dashboard page at `/` before anything is loaded; `tell` passes events to its document. */
export function openPage() {
  const page = new Part(1, "document");
  const create = { createElement: made, createElementNS: (_: unknown, name: string) => made(name) };
  const first = { visibilityState: "hidden", createTextNode, activeElement: null };
  vi.stubGlobal("document", Object.assign(page, create, first, { documentElement: { dataset: {} } }));
  vi.stubGlobal("Element", Part);
  vi.stubGlobal("HTMLElement", Part);
  vi.stubGlobal("HTMLButtonElement", Part);
  const location = { origin: "http://simulator", hostname: "simulator", pathname: "/dashboard" };
  vi.stubGlobal("location", Object.assign(location, { search: "", hash: "" }));
  const kept = new Map<string, string>();
  const setItem = (name: string, value: string) => kept.set(name, value);
  vi.stubGlobal("localStorage", { getItem: (name: string) => kept.get(name) ?? null, setItem });
  /** Where the page went, with how. */
  const visits: string[] = [];
  const go = (how: string) => (_state: unknown, _title: string, url: string) => {
    visits.push(`${how} ${url}`);
    const [pathname, search = ""] = url.split("?");
    Object.assign(location, { pathname, search: search && `?${search}` });
  };
  vi.stubGlobal("history", { pushState: go("push"), replaceState: go("replace") });
  vi.resetModules();
  return Object.assign(page, { visits, kept });
}

/** Renders a component; returns its container and a function that removes it. */
export async function show(component: ComponentChild) {
  const root = new Part(1, "main");
  const to = root as unknown as HTMLElement;
  await act(() => render(component, to));
  return {
    root,
    again: (next: ComponentChild) => act(() => render(next, to)),
    close: () => act(() => render(null, to)),
  };
}

const made = (name: string) => new Part(1, name);

function createTextNode(text: string): Part {
  return Object.assign(new Part(3, "#text"), { data: text });
}
