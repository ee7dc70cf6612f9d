import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { hrefTo } from "../core/route.ts";
import { messageOf } from "../core/toasts.ts";
import { Problem } from "./empty.tsx";
import { PageHead } from "./page.tsx";

/** What cannot show something says so; everything around it goes on. */
export function Guarded({ children }: { children: ComponentChildren }) {
  const error: unknown = useErrorBoundary()[0];
  if (error === undefined) return <>{children}</>;
  return (
    <>
      <PageHead title="This page failed" />
      <Problem error={new Error(`It met something that it cannot show: ${messageOf(error)}.`)}>
        <p>
          <a href={hrefTo("/")}>Back to Live</a>
        </p>
      </Problem>
    </>
  );
}
