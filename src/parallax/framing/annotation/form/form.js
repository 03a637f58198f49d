"use strict";

// All state is the list of answers given, in order: [row, question, "yes" or "no"]. The last answer
// to a question counts, and undoing takes the last one off.
const { store, file, columns, formula, mark, rows } = JSON.parse(byId("data").textContent);
const fields = [...document.querySelectorAll("fieldset")];
let given = [];
let row = 0;
let kept = true;
let unsaved = false;

function byId(id) {
  return document.getElementById(id);
}

function answersOf(index) {
  const answers = fields.map(() => "");
  for (const [where, question, answer] of given) if (where === index) answers[question] = answer;
  return answers;
}

function openPairs() {
  return rows.map((_, index) => index).filter((index) => answersOf(index).includes(""));
}

// What is stored may be another version's, or damaged: only well-formed answers count.
function load() {
  try {
    given = JSON.parse(localStorage.getItem(store) ?? "[]").filter(
      ([where, question, answer]) =>
        rows.at(where) && fields.at(question) && ["yes", "no"].includes(answer)
    );
  } catch (error) {
    warn();
  }
}

function keep() {
  unsaved = true;
  try {
    localStorage.setItem(store, JSON.stringify(given));
  } catch (error) {
    warn();
  }
}

function warn() {
  kept = false;
  byId("warning").textContent =
    "This browser does not keep your answers: leave this page open until you have saved them to a file.";
  byId("warning").hidden = false;
}

function say(text) {
  byId("status").textContent = text;
}

function show() {
  const [, left, right] = rows[row];
  const answers = answersOf(row);
  const open = openPairs().length;
  byId("place").textContent = `Pair ${row + 1} of ${rows.length}`;
  byId("left").textContent = left;
  byId("right").textContent = right;
  for (const button of document.querySelectorAll("button[data-answer]"))
    button.setAttribute(
      "aria-pressed",
      String(answers[button.dataset.question] === button.dataset.answer)
    );
  byId("done").value = rows.length - open;
  byId("progress").textContent = `${rows.length - open} of ${rows.length} pairs answered`;
  byId("previous").disabled = row === 0;
  byId("next").disabled = row === rows.length - 1;
  byId("open").disabled = open === 0;
  byId("undo").disabled = given.length === 0;
  byId("afresh").disabled = given.length === 0;
  document.body.classList.toggle("finished", open === 0);
}

// The question itself is focused, not its "Yes": no answer is nearer than the other. The page stays
// at its top, where the texts are.
function focusOpenQuestion() {
  const question = answersOf(row).indexOf("");
  fields[Math.max(0, question)].focus({ preventScroll: true });
}

function goTo(index) {
  if (index < 0 || index >= rows.length) return;
  row = index;
  say("");
  show();
  scrollTo(0, 0);
  focusOpenQuestion();
}

function currentQuestion() {
  const focused = fields.findIndex((field) => field.contains(document.activeElement));
  return focused < 0 ? Math.max(0, answersOf(row).indexOf("")) : focused;
}

function answer(question, word) {
  given.push([row, question, word]);
  keep();
  show();
  if (given.length === 1) byId("help").open = false;
  const left = answersOf(row).indexOf("");
  if (left >= 0) {
    say(`Answered ${word}.`);
    fields[left].focus();
  } else if (openPairs().length) {
    say(`Answered ${word}. This pair is done.`);
    byId(row < rows.length - 1 ? "next" : "open").focus();
  } else {
    say("All pairs are answered. Save the file and send it to whoever gave you this form.");
    byId("save").focus();
  }
}

function undo() {
  const last = given.pop();
  if (!last) return;
  keep();
  row = last[0];
  show();
  say(`The answer ${last[2]} in pair ${row + 1} is undone.`);
  fields[last[1]].focus();
}

// No single key does it, and what was given is gone from the browser too.
function startAfresh() {
  if (!confirm("Delete all answers given in this form, also those kept in this browser?")) return;
  given = [];
  keep();
  unsaved = false;
  byId("help").open = true;
  goTo(0);
  say("All answers are deleted.");
}

function cell(text) {
  const safe = text.replace(new RegExp(formula, "g"), `$1${mark}`);
  return `"${safe.replaceAll('"', '""')}"`;
}

function save() {
  const open = openPairs().length;
  const lines = [columns, ...rows.map((texts, index) => [...texts, ...answersOf(index)])];
  const text = lines.map((line) => line.map(cell).join(",") + "\n").join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
  link.download = `${file}-${open ? "unfinished" : "answers"}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  unsaved = false;
  say(
    open
      ? `Saved as ${link.download}. ${open} pairs are still open: answer them, and save again.`
      : `Saved as ${link.download}. Send that file to whoever gave you this form.`
  );
}

const KEYS = {
  y: () => answer(currentQuestion(), "yes"),
  1: () => answer(currentQuestion(), "yes"),
  n: () => answer(currentQuestion(), "no"),
  2: () => answer(currentQuestion(), "no"),
  g: () => goTo(openPairs()[0] ?? row),
  u: undo,
  backspace: undo,
  s: save,
  arrowleft: () => goTo(row - 1),
  arrowright: () => goTo(row + 1),
  arrowup: () => fields[Math.max(0, currentQuestion() - 1)].focus(),
  arrowdown: () => fields[Math.min(fields.length - 1, currentQuestion() + 1)].focus(),
};

document.addEventListener("keydown", (event) => {
  const action = KEYS[event.key.toLowerCase()];
  // A key held down must not answer one pair after another.
  if (!action || !byId("keys").checked || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (!event.repeat) action();
});
for (const button of document.querySelectorAll("button[data-answer]"))
  button.addEventListener("click", () =>
    answer(Number(button.dataset.question), button.dataset.answer)
  );
byId("previous").addEventListener("click", () => goTo(row - 1));
byId("next").addEventListener("click", () => goTo(row + 1));
byId("open").addEventListener("click", KEYS.g);
byId("undo").addEventListener("click", undo);
byId("afresh").addEventListener("click", startAfresh);
byId("save").addEventListener("click", save);
// The same form in another tab: what is answered there counts here, and is not written over.
addEventListener("storage", (event) => {
  if (event.key !== store) return;
  load();
  show();
});
addEventListener("beforeunload", (event) => {
  if (!kept && unsaved) event.preventDefault();
});

load();
byId("form").hidden = false;
byId("help").open = given.length === 0;
row = openPairs()[0] ?? 0;
show();
if (given.length) say("Your earlier answers are here. If they are not yours, start afresh.");
focusOpenQuestion();
