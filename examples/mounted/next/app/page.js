export default function Page() {
  return <p>The app that was there before.</p>;
}
