"""Small folders of given files, and ways to spoil them."""

import ast
import shutil
from pathlib import Path

import pyarrow.parquet as pq

from parallax.umu.folders import FILE_NAME, FULL, REAL
from parallax.umu.official import write_subset
from parallax.umu.splits import cut_subsets, shuffle_ids

TEXTS = ("MM_QA", "UM_QA", "Classify", "Cloze", "Generation")


def write_folder(folder, groups, seed=2026):
    """Write all eight subsets as the `dataset` stage does."""
    everyone = {person.person_id: person for person in groups["fictitious"]}
    subsets = cut_subsets(shuffle_ids(list(everyone), seed, "official splits"))
    write_subset(folder, FULL, groups["fictitious"])
    write_subset(folder, REAL, groups["real"])
    for subset, ids in subsets.items():
        write_subset(folder, subset, [everyone[person_id] for person_id in ids])
    return folder


def read_file(folder, subset):
    return pq.read_table(folder / subset / FILE_NAME).to_pylist()


def write_file(folder, subset, rows):
    import pyarrow as pa

    (folder / subset).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / subset / FILE_NAME)


def edit_rows(folder, change, subsets=None):
    """Replace the rows of every subset, or of some, by change(rows)."""
    for path in sorted(Path(folder).iterdir()):
        if subsets is None or path.name in subsets:
            rows = read_file(folder, path.name)
            changed = change([dict(row) for row in rows])
            if changed != rows:
                write_file(folder, path.name, changed)


def edit_cell(folder, person_id, column, change, subsets=None):
    """Replace a cell by change(value); a cell with a literal is parsed before and printed after."""

    def edit(rows):
        for row in rows:
            if row["ID"] == person_id:
                cell = row[column]
                if column in TEXTS:
                    value = ast.literal_eval(cell)
                    changed = change(value)
                    row[column] = changed if isinstance(changed, str) else repr(value)
                else:
                    row[column] = change(cell)
        return rows

    edit_rows(folder, edit, subsets)


def remove_subset(folder, *subsets):
    for subset in subsets:
        shutil.rmtree(folder / subset)
