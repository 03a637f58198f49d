"use strict";
(() => {
  const people = [...document.querySelectorAll(".person")];
  const form = document.querySelector("#people .filter");
  if (!form) return;
  const { name, set, left, known, toggle } = form.elements;
  const output = form.querySelector("output");

  const filter = () => {
    const wanted = name.value.trim().toLowerCase();
    let shown = 0;
    for (const person of people) {
      const fits =
        person.dataset.name.includes(wanted) &&
        (!set.value || person.dataset.set === set.value) &&
        (!left.value || person.dataset.left === left.value);
      person.hidden = !fits;
      shown += fits;
    }
    for (const fact of document.querySelectorAll(".facts tbody.unknown")) {
      fact.hidden = known.checked;
    }
    output.textContent = `${shown} of ${people.length} people`;
  };

  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  toggle.addEventListener("click", () => {
    const all = toggle.textContent === "Open all";
    for (const person of people) person.open = all;
    toggle.textContent = all ? "Close all" : "Open all";
  });
  filter();
})();
