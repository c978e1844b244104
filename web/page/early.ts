/** Runs before anything is painted: the language and the colours of the last visit, so that nothing flashes. */

try {
  const { language, theme } = JSON.parse(localStorage.getItem("thinkaloud") ?? "{}") as Record<string, string>;
  if (language) document.documentElement.lang = language;
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the page looks as the system does.
}
