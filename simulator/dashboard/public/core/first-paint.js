// Runs before anything is painted, so that a chosen theme never flashes in the other one.
{
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  // The link that `serve` prints carries the token once; the cookie has it from then on.
  const url = new URL(location.href);
  if (url.searchParams.has("token")) {
    url.searchParams.delete("token");
    history.replaceState(null, "", url);
  }
}
