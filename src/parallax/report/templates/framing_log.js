(() => {
  const data = document.getElementById("log-data");
  if (!data) return;
  const log = JSON.parse(data.textContent);
  const form = document.querySelector("#framing-log .filter");
  const list = document.getElementById("log-list");
  const pager = document.getElementById("log-pages");
  const output = form.querySelector("output");
  const fields = form.elements;
  const PAGE = 20;
  const FRAMES = ["E", "D", "N"];
  const [SUBJECT, ITEM, PARAPHRASE, WORDING, DRAW, ARM, TEXT, CUT, VERDICTS] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const categories = log.categories.map((name) => log.labels.categories[name] ?? name);
  const arms = log.arms.map((name) => log.labels.arms[name] ?? name);
  const body = (row) => log.items[row[ITEM]].bodies[row[PARAPHRASE]];
  const searched = log.rows.map((row) => `${row[TEXT]}\n${body(row)}`.toLowerCase());
  let groups = [];
  let page = 0;

  // Rows come sorted: the arms of one draw follow each other.
  const starts = [];
  log.rows.forEach((row, n) => {
    const last = log.rows[n - 1];
    if (!n || [SUBJECT, ITEM, PARAPHRASE, WORDING, DRAW].some((k) => row[k] !== last[k])) {
      starts.push(n);
    }
  });

  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  // Control characters, which do not show, and those that turn the direction of writing.
  const visible = (text) =>
    text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, (character) =>
      `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

  const fill = (select, names, values = names.map((_, n) => n)) => {
    names.forEach((name, n) => {
      const option = make("option", "", name);
      option.value = values[n];
      select.append(option);
    });
    select.closest("label").hidden = names.length < 2;
  };

  const verdictsOf = (row, judge) =>
    judge === "" ? row[VERDICTS] : row[VERDICTS].filter((verdict) => verdict[0] === Number(judge));

  const differs = (rows, judge) => {
    if (fields.differ.value === "judges") {
      return rows.some((row) => new Set(row[VERDICTS].map((verdict) => verdict[1])).size > 1);
    }
    const framed = rows.filter((row) => FRAMES.includes(log.arms[row[ARM]]));
    return log.judges.some((_, n) =>
      (judge === "" || Number(judge) === n) &&
      new Set(framed.flatMap((row) => verdictsOf(row, n).map((verdict) => verdict[1]))).size > 1);
  };

  const find = () => {
    const wanted = fields.text.value.trim().toLowerCase();
    const same = (field, value) => field.value === "" || Number(field.value) === value;
    const { judge, category } = fields;
    const fits = (n) => {
      const row = log.rows[n];
      return same(fields.arm, row[ARM]) &&
        (category.value === "" ||
          verdictsOf(row, judge.value).some((verdict) => same(category, verdict[1]))) &&
        (!wanted || searched[n].includes(wanted));
    };
    groups = [];
    let count = 0;
    starts.forEach((start, g) => {
      const first = log.rows[start];
      if (!same(fields.subject, first[SUBJECT]) || !same(fields.item_id, first[ITEM]) ||
          !same(fields.paraphrase, first[PARAPHRASE])) return;
      const all = Array.from({ length: (starts[g + 1] ?? log.rows.length) - start }, (_, k) => start + k);
      const found = all.filter(fits);
      if (!found.length) return;
      if (fields.differ.value && !differs(all.map((n) => log.rows[n]), judge.value)) return;
      count += found.length;
      groups.push({ found: new Set(found), shown: fields.paired.checked ? all : found });
    });
    page = 0;
    output.textContent = `${count} of ${log.rows.length} responses, ${groups.length} draws`;
    render();
  };

  const renderVerdicts = (row) => {
    const verdicts = make("ul", "verdicts");
    for (const [judge, category, reason] of row[VERDICTS]) {
      const entry = make("li");
      entry.append(make("span", "note", `${log.judges[judge]} `));
      entry.append(make("strong", `category ${log.categories[category] || "unscored"}`, categories[category]));
      if (log.reasons[reason]) entry.append(make("span", "note reason", visible(log.reasons[reason])));
      verdicts.append(entry);
    }
    return verdicts;
  };

  const renderArm = (row, matches) => {
    const arm = make("div", matches ? "arm" : "arm other");
    const head = make("h4");
    head.append(make("span", `frame frame-${log.arms[row[ARM]]}`, log.arms[row[ARM]].replace("_", " ")));
    head.append(make("span", "note", arms[row[ARM]]));
    const said = make("p", "said", visible(row[TEXT]));
    if (!row[TEXT]) said.append(make("em", "", "(empty)"));
    arm.append(head, said);
    if (row[CUT]) arm.append(make("p", "note", "stopped at the token limit"));
    arm.append(renderVerdicts(row));
    return arm;
  };

  const renderGroup = ({ found, shown }) => {
    const first = log.rows[shown[0]];
    const item = log.items[first[ITEM]];
    const group = make("li", "draw");
    const head = make("h3", "", `${item.id}, version ${first[PARAPHRASE] + 1}, draw ${first[DRAW] + 1}`);
    const about = [log.subjects[first[SUBJECT]], item.topic, `wording ${log.wordings[first[WORDING]]}`];
    head.append(make("span", "note", ` ${about.filter(Boolean).join(", ")}`));
    const frames = make("div", "arms");
    for (const n of shown) frames.append(renderArm(log.rows[n], found.has(n)));
    group.append(head, make("p", "asked", visible(body(first))), frames);
    return group;
  };

  const render = () => {
    const pages = Math.max(1, Math.ceil(groups.length / PAGE));
    list.replaceChildren(...groups.slice(page * PAGE, (page + 1) * PAGE).map(renderGroup));
    for (const button of pager.querySelectorAll("button")) {
      button.disabled = button.name === "previous" ? page === 0 : page >= pages - 1;
    }
    pager.querySelector("span").textContent = `Page ${page + 1} of ${pages}`;
    pager.hidden = pages < 2;
  };

  pager.addEventListener("click", (event) => {
    const step = { previous: -1, next: 1 }[event.target.name];
    if (!step) return;
    page += step;
    render();
    list.focus();
    list.scrollIntoView();
  });
  form.addEventListener("input", find);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(find));

  fill(fields.subject, log.subjects);
  fill(fields.item_id, log.items.map((item) => (item.topic ? `${item.id} (${item.topic})` : item.id)));
  const versions = [...new Set(log.rows.map((row) => row[PARAPHRASE]))].sort();
  fill(fields.paraphrase, versions.map((n) => `version ${n + 1}`), versions);
  fill(fields.arm, arms.map((label, n) => `${log.arms[n].replace("_", " ")}: ${label}`));
  fill(fields.judge, log.judges);
  fill(fields.category, categories);
  document.getElementById("log-notice").hidden = true;
  form.hidden = false;
  find();
})();
