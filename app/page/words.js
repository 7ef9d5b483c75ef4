// The texts of the page by language. Another language is one more value a line and one more name in LANGUAGES; a text
// that a line lacks is English. A list holds the forms for one and for more; `{name}` is what stands there.
export const LANGUAGES = { en: "English", de: "Deutsch" };

export const WORDS = {
  search: { en: "Search", de: "Suche" },
  thresholds: { en: "Thresholds", de: "Schwellen" },
  data: { en: "Data", de: "Daten" },
  texts: { en: "Compare", de: "Vergleichen" },
  restore: { en: "Restore", de: "Wiederherstellen" },
  docs: { en: "API", de: "API" },
  views: { en: "Views", de: "Ansichten" },
  skip: { en: "Skip to content", de: "Zum Inhalt" },
  loading: { en: "Loading", de: "Lädt" },
  close: { en: "Close", de: "Schließen" },
  language: { en: "Language", de: "Sprache" },
  theme: { en: "Theme: {state}", de: "Farben: {state}" },
  light: { en: "light", de: "hell" },
  dark: { en: "dark", de: "dunkel" },
  copy: { en: "Copy", de: "Kopieren" },
  copied: { en: "Copied.", de: "Kopiert." },
  shown: { en: "{view} is shown.", de: "{view} wird gezeigt." },

  sign_in: { en: "Sign in", de: "Anmelden" },
  sign_out: { en: "Sign out", de: "Abmelden" },
  signed_out: { en: "Signed out. The key is forgotten.", de: "Abgemeldet. Der Schlüssel ist vergessen." },
  sign_in_title: { en: "Sign in with a key", de: "Mit einem Schlüssel anmelden" },
  key: { en: "API key", de: "API-Schlüssel" },
  key_kept: {
    en: "The key stays in this tab until you sign out or close it. A token of your identity provider is taken, too, where the server accepts one.",
    de: "Der Schlüssel bleibt in diesem Tab, bis Sie sich abmelden oder ihn schließen. Wo der Server es zulässt, geht auch ein Token Ihres Anmeldedienstes.",
  },
  key_refused: { en: "This key was refused. {why}", de: "Dieser Schlüssel wurde abgelehnt. {why}" },
  sign_in_first: { en: "Sign in to see this", de: "Melden Sie sich an, um dies zu sehen" },
  sign_in_hint: { en: "Whoever runs this server can give you a key.", de: "Wer diesen Server betreibt, kann Ihnen einen Schlüssel geben." },

  missing: { en: "There is no collection {name} here", de: "Hier gibt es keine Sammlung {name}" },
  missing_hint: {
    en: "It was deleted, has another name, or your key may not see it. Choose another one:",
    de: "Sie wurde gelöscht, heißt anders, oder Ihr Schlüssel darf sie nicht sehen. Wählen Sie eine andere:",
  },

  nothing_yet: { en: "Nothing to search yet", de: "Noch nichts zu durchsuchen" },
  your_data: { en: "Your data", de: "Ihre Daten" },
  first_documents: { en: "Add your first documents", de: "Fügen Sie Ihre ersten Dokumente hinzu" },
  load_sample: { en: "Load the sample", de: "Beispiel laden" },
  sample_hint: {
    en: "Or try it with twelve short calls and mails first:",
    de: "Oder probieren Sie es erst mit zwölf kurzen Anrufen und Mails (englisch):",
  },
  collections: { en: "Collections", de: "Sammlungen" },
  name: { en: "Name", de: "Name" },
  documents: { en: "Documents", de: "Dokumente" },
  passages: { en: "Passages", de: "Passagen" },
  on_disk: { en: "On disk", de: "Auf der Platte" },
  encoder: { en: "Encoder", de: "Encoder" },
  holds: { en: "Holds", de: "Enthält" },
  with_texts: { en: "texts", de: "Texte" },
  without_texts: { en: "no texts", de: "keine Texte" },
  actions: { en: "Actions", de: "Aktionen" },
  search_it: { en: "Search it", de: "Durchsuchen" },
  delete: { en: "Delete", de: "Löschen" },
  delete_for_good: { en: "Delete for good", de: "Endgültig löschen" },
  deleted: { en: "{name} was deleted.", de: "{name} wurde gelöscht." },
  alias: { en: "Give it another name", de: "Weiteren Namen geben" },
  alias_hint: {
    en: "The collection can be searched by the other name, too; links to the old one still work.",
    de: "Die Sammlung ist dann auch unter dem weiteren Namen zu finden; Links auf den alten gelten weiter.",
  },
  alias_name: { en: "Other name", de: "Weiterer Name" },
  alias_set: { en: "{name} can now be found as {alias}, too.", de: "{name} ist nun auch als {alias} zu finden." },
  save: { en: "Save", de: "Speichern" },

  add_documents: { en: "Add documents", de: "Dokumente hinzufügen" },
  add_hint: {
    en: "Drop text files, tables (CSV, TSV) or NDJSON here, or choose them. Tables and NDJSON may be gzipped.",
    de: "Legen Sie Textdateien, Tabellen (CSV, TSV) oder NDJSON hier ab, oder wählen Sie sie. Tabellen und NDJSON dürfen gepackt sein (gzip).",
  },
  into: { en: "Into", de: "In" },
  new_collection: { en: "A new collection", de: "Eine neue Sammlung" },
  new_name: { en: "Name of the new collection", de: "Name der neuen Sammlung" },
  named_after: { en: "named after the first file", de: "nach der ersten Datei benannt" },
  files: { en: "Files", de: "Dateien" },
  not_sent: { en: "{file} was not sent.", de: "{file} wurde nicht gesendet." },
  not_sent_hint: {
    en: "The page takes .txt, .md, .csv, .tsv, .ndjson and .jsonl; `spanseek index` also reads PDF, Word, Excel, e-mail, HTML, subtitles and Parquet.",
    de: "Die Seite nimmt .txt, .md, .csv, .tsv, .ndjson und .jsonl; `spanseek index` liest auch PDF, Word, Excel, E-Mail, HTML, Untertitel und Parquet.",
  },
  columns: {
    en: "Its columns are {names}. Those that are not chosen become metadata.",
    de: "Ihre Spalten sind {names}. Nicht gewählte werden Metadaten.",
  },
  not_named: { en: "not named", de: "ohne Namen" },
  text_column: { en: "Texts are in", de: "Texte stehen in" },
  id_column: { en: "Ids are in", de: "Kennungen stehen in" },
  number_rows: { en: "None: number the rows", de: "Keiner: Zeilen zählen" },
  row_is: { en: "A row is", de: "Eine Zeile ist" },
  row_document: { en: "A document", de: "Ein Dokument" },
  row_part: { en: "A part of one, ordered by {column}", de: "Ein Teil davon, geordnet nach {column}" },
  as_documents: { en: "The first rows as documents", de: "Die ersten Zeilen als Dokumente" },
  id: { en: "Id", de: "Kennung" },
  text: { en: "Text", de: "Text" },
  metadata: { en: "Metadata", de: "Metadaten" },
  add_table: { en: "Add this table", de: "Diese Tabelle hinzufügen" },
  sending: { en: "{file}: sending", de: "{file}: wird gesendet" },
  waiting: { en: "{file}: waiting for its turn", de: "{file}: wartet" },
  indexing: { en: "{file}: indexing, {counts}", de: "{file}: wird indiziert, {counts}" },
  left: { en: "about {time} left", de: "noch etwa {time}" },
  counts: {
    en: "{indexed} indexed, {unchanged} unchanged, {failed} failed",
    de: "{indexed} indiziert, {unchanged} unverändert, {failed} fehlgeschlagen",
  },
  line: { en: "Line", de: "Zeile" },
  row: { en: "Row", de: "Zeile" },
  why: { en: "Why", de: "Warum" },
  errors_of: { en: "Errors of {name}", de: "Fehler in {name}" },
  first_errors: { en: "The first {count} errors; the task's results have all.", de: "Die ersten {count} Fehler; die Ergebnisse der Aufgabe haben alle." },
  undo: { en: "Undo: remove what was added", de: "Rückgängig: Hinzugefügtes entfernen" },
  undo_sure: {
    en: ["Remove 1 document", "Remove {count} documents"],
    de: ["1 Dokument entfernen", "{count} Dokumente entfernen"],
  },
  undo_hint: { en: "Documents that were replaced do not come back.", de: "Ersetzte Dokumente kommen nicht zurück." },
  undone: { en: ["{file}: 1 document was removed.", "{file}: {count} documents were removed."], de: ["{file}: 1 Dokument wurde entfernt.", "{file}: {count} Dokumente wurden entfernt."] },

  tasks_of: { en: "Tasks of {name}", de: "Aufgaben von {name}" },
  tasks: { en: "Tasks", de: "Aufgaben" },
  no_tasks: {
    en: "None yet. Large uploads, reindexing and other long work run as tasks.",
    de: "Noch keine. Große Uploads, Neuindizierung und andere lange Arbeit laufen als Aufgaben.",
  },
  cancel: { en: "Cancel", de: "Abbrechen" },
  progress_of: { en: "Progress of {name}", de: "Fortschritt von {name}" },
  errors_by_line: { en: "Errors by line", de: "Fehler nach Zeilen" },
  upload_was: { en: "The upload was {status}.", de: "Der Upload endete: {status}." },

  snapshots: { en: "Snapshots", de: "Sicherungen" },
  snapshots_of: { en: "Snapshots of {name}", de: "Sicherungen von {name}" },
  snapshots_hint: {
    en: "One file with the collection, its thresholds and its phrases. Making one does not disturb searches.",
    de: "Eine Datei mit der Sammlung, ihren Schwellen und Phrasen. Suchen laufen dabei weiter.",
  },
  make_snapshot: { en: "Make a snapshot", de: "Sicherung anlegen" },
  none_yet: { en: "None yet.", de: "Noch keine." },
  document_count: { en: ["1 document", "{count} documents"], de: ["1 Dokument", "{count} Dokumente"] },
  download: { en: "Download", de: "Herunterladen" },
  restore_as: { en: "Restore as a new collection", de: "Als neue Sammlung wiederherstellen" },
  its_name: { en: "Its name", de: "Ihr Name" },
  snapshot_made: { en: "The snapshot was made.", de: "Die Sicherung wurde angelegt." },
  snapshot_restored: { en: "The snapshot was restored.", de: "Die Sicherung wurde wiederhergestellt." },
  snapshot_failed: { en: "The snapshot could not be finished.", de: "Die Sicherung konnte nicht beendet werden." },

  calibrations: { en: "Calibrations", de: "Kalibrierungen" },
  calibrations_hint: {
    en: "A calibration says which score a similarity has. It changes scores, never their order; thresholds still find the same hits.",
    de: "Eine Kalibrierung sagt, welchen Wert eine Ähnlichkeit hat. Sie ändert Werte, nie ihre Reihenfolge; Schwellen finden dieselben Treffer.",
  },
  no_calibrations: {
    en: "None yet. Label at least 20 examples and fit one; until then, a score is the similarity.",
    de: "Noch keine. Beurteilen Sie mindestens 20 Beispiele; bis dahin ist der Wert die Ähnlichkeit.",
  },
  label_count: { en: ["1 label", "{count} labels"], de: ["1 Urteil", "{count} Urteile"] },
  active: { en: "active", de: "aktiv" },
  not_active: { en: "not active", de: "nicht aktiv" },
  activate: { en: "Activate", de: "Aktivieren" },
  deactivate: { en: "Deactivate", de: "Deaktivieren" },
  activated: { en: "The calibration was activated.", de: "Die Kalibrierung wurde aktiviert." },
  deactivated: { en: "The calibration was deactivated.", de: "Die Kalibrierung wurde deaktiviert." },

  openapi: { en: "The OpenAPI document", de: "Das OpenAPI-Dokument" },
  parameters: { en: "Parameters", de: "Parameter" },
  parameter: { en: "Parameter", de: "Parameter" },
  where: { en: "In", de: "In" },
  meaning: { en: "Meaning", de: "Bedeutung" },
  required: { en: "required", de: "nötig" },
  body_of: { en: "Body: {type}", de: "Inhalt: {type}" },
  status: { en: "Status", de: "Status" },
  answers: { en: "Answers", de: "Antworten" },
  field: { en: "Field", de: "Feld" },
  default: { en: "Default", de: "Vorgabe" },
  body_fields: { en: "Fields of the body", de: "Felder des Inhalts" },
  try_it: { en: "Try it", de: "Ausprobieren" },
  body: { en: "Body", de: "Inhalt" },
  send: { en: "Send", de: "Senden" },
  as_curl: { en: "The same with curl", de: "Dasselbe mit curl" },
  answer: { en: "Answer", de: "Antwort" },
  answer_cut: { en: "The first {count} characters are shown.", de: "Die ersten {count} Zeichen sind gezeigt." },
  changes_data: { en: "This changes data.", de: "Das ändert Daten." },

  texts_title: { en: "Compare and summarize texts", de: "Texte vergleichen und zusammenfassen" },
  compare: { en: "Compare", de: "Vergleichen" },
  compare_hint: {
    en: "How near two texts are in every way of searching, what they speak of, and which is more general.",
    de: "Wie nah sich zwei Texte in jeder Art der Suche sind, wovon sie handeln, und welcher allgemeiner ist.",
  },
  first_text: { en: "First text", de: "Erster Text" },
  second_text: { en: "Second text", de: "Zweiter Text" },
  mode: { en: "Way of searching", de: "Art der Suche" },
  score: { en: "Score", de: "Wert" },
  facets: { en: "What they speak of", de: "Wovon sie handeln" },
  facets_hint: { en: "Facets, by the words nearest to them.", de: "Facetten, nach den nächsten Wörtern." },
  no_facets: { en: "Nothing can be said of facets: the server has no vectors of these words.", de: "Über Facetten lässt sich nichts sagen: der Server hat keine Vektoren dieser Wörter." },
  more_general_first: { en: "The first text is the more general one.", de: "Der erste Text ist der allgemeinere." },
  more_general_second: { en: "The second text is the more general one.", de: "Der zweite Text ist der allgemeinere." },
  more_general_none: { en: "Nothing tells which text is more general.", de: "Nichts sagt, welcher Text allgemeiner ist." },
  summarize: { en: "Summarize", de: "Zusammenfassen" },
  summarize_hint: {
    en: "The sentences that say most of a text, in its own words.",
    de: "Die Sätze, die am meisten von einem Text sagen, in seinen eigenen Worten.",
  },
  long_text: { en: "Text to summarize", de: "Text zum Zusammenfassen" },
  how_many: { en: "Sentences", de: "Sätze" },
  chosen_of: { en: ["{chosen} of 1 sentence", "{chosen} of {count} sentences"], de: ["{chosen} von 1 Satz", "{chosen} von {count} Sätzen"] },

  restore_title: { en: "Restore texts from vectors", de: "Texte aus Vektoren wiederherstellen" },
  restore_hint: {
    en: "A collection without texts keeps numbers alone, from which a model writes the texts again. See what comes back of a text of yours. Such vectors are as confidential as the text.",
    de: "Eine Sammlung ohne Texte bewahrt nur Zahlen, aus denen ein Modell die Texte wieder schreibt. Sehen Sie, was von einem Text wiederkommt. Solche Vektoren sind so vertraulich wie der Text.",
  },
  your_text: { en: "Your text, up to six sentences", de: "Ihr Text, bis zu sechs Sätze" },
  restore_it: { en: "Make vectors and restore", de: "Vektoren bilden und wiederherstellen" },
  restored: { en: "What came back", de: "Was wiederkam" },
  same_text: { en: "Word for word what you wrote.", de: "Wort für Wort, was Sie schrieben." },
  other_text: { en: "It differs from what you wrote.", de: "Es weicht von dem ab, was Sie schrieben." },
  confidence: {
    en: "Its least certain piece has a confidence of {percent} %. Uncertain pieces are underlined.",
    de: "Das unsicherste Stück hat eine Sicherheit von {percent} %. Unsichere Stücke sind unterstrichen.",
  },
  vectors_made: { en: ["1 vector of {dim} numbers was kept of it.", "{count} vectors of {dim} numbers were kept of it."], de: ["1 Vektor aus {dim} Zahlen wurde davon bewahrt.", "{count} Vektoren aus {dim} Zahlen wurden davon bewahrt."] },
  textless: { en: "Collections without texts", de: "Sammlungen ohne Texte" },
  no_textless: { en: "None here. One is made with `store_text: false`.", de: "Hier gibt es keine. Eine entsteht mit `store_text: false`." },
};

const chosen = localStorage.getItem("language") || navigator.languages.map((one) => one.slice(0, 2)).find((one) => one in LANGUAGES);
let language = chosen in LANGUAGES ? chosen : "en";
export const currentLanguage = () => language;

export function setLanguage(value) {
  language = value;
  localStorage.setItem("language", value);
}

// The text of a name in the language of the page; `count` chooses its form.
export function t(name, values = {}) {
  const found = WORDS[name][language] ?? WORDS[name].en;
  const text = Array.isArray(found) ? found[new Intl.PluralRules(language).select(values.count) === "one" ? 0 : 1] : found;
  return text.replace(/\{(\w+)\}/g, (_, key) => (typeof values[key] === "number" ? values[key].toLocaleString(language) : values[key]));
}

// A time that is left, in rough steps.
export function roughly(seconds) {
  const [value, unit] = seconds < 90 ? [Math.max(1, Math.ceil(seconds)), "second"] : seconds < 5400 ? [Math.round(seconds / 60), "minute"] : [Math.round(seconds / 3600), "hour"];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(value);
}
