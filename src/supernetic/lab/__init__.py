"""The laboratory: what reproduces the claims of papers, apart from the tools that everybody uses.

**Studies.** `supernetic study FILE` trains a grid of supernets over several seeds, measures all of them in the same way
and judges the claims of the file. In the order in which they run:

- `study_file` reads the TOML file: variants, figures and claims.
- `job` is the command itself: check everything, train, measure, judge, write.
- `trainings` trains the supernets in worker processes; studies share trainings.
- `measures` holds what can be measured on a trained supernet, one measure per file; `ranking_statistics` has the
  numbers of the measure `ranking`.
- `seed_spread` turns a few seeds into means and intervals, `claims` turns these into verdicts.
- `result` writes the files of a study and sums it up; `csv_tables`, `study_figures` and `study_page` make its tables,
  plots and page.

**Search costs.** `accounting` recomputes the cost tables of AttentiveNAS and ScaleNet (`supernetic cost --of-search`).

**S3TA.** `s3ta` and `s3ta_module` are the attention model of "Small Data, Big Decisions". It has no blueprint, so it
can be compared by `select` but not searched or exported.
"""
