// The picture on the stage as one file that opens from a disk: scripts, words, and the answers it was drawn from.
import { answered } from "./ask.js";
import { save } from "./dom.js";
import { text } from "./words.js";

const PLACE = ">null</script>"; // where the server's file without data takes its data

/** @param {any} app */
export async function savePicture(app) {
  try {
    const html = await file(app);
    save(`gptviz-${app.page().key}.html`, new Blob([html], { type: "text/html" }));
  } catch {
    app.parts.notice(text("frame.no_server"));
  }
}

/** @param {any} app */
async function file(app) {
  const page = app.page();
  const address = new URL(`../../saved/${page.key}.html`, import.meta.url);
  const response = await fetch(address);
  if (!response.ok) throw new Error(String(response.status));
  const model = app.model();
  const words = app.prompt();
  const data = {
    language: app.manifest.language,
    words: app.manifest.words,
    page: { ...page, steps: [{ ...page.steps[app.state.step - 1], guess: null }] },
    models: [model],
    text: words,
    fields: app.state.fields,
    answers: await answered(words, model.name),
  };
  const json = JSON.stringify(data).replaceAll("<", "\\u003c"); // nothing in it can end the script it stands in
  return (await response.text()).replace(PLACE, () => `>${json}</script>`);
}
