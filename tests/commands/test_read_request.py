from __future__ import annotations

from pathlib import Path

import supernetic


def test_a_file_gives_the_arguments_of_a_search(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'space = "macro:channels=4,resolution=8,head=16"\nsteps = 2\nnetwork_steps = 2\npopulation = 2\n'
        'generations = 1\nlimit = 200\naugment = "none"\nevidence = "none"\nworkers = 1\n'
    )
    arguments = supernetic.read_request(file)
    planned = supernetic.search(**{**arguments, "keep": 1}, dry_run=True).planned
    assert planned is not None
    assert planned.plan["supernet_steps"] == 2
    assert planned.saved == ""


def test_a_file_gives_the_arguments_of_a_table_search(tmp_path: Path) -> None:
    file = tmp_path / "table.toml"
    file.write_text('table = "nasbench201"\nwhere = ["macs<=20M"]\nsearcher = "random"\nevaluations = 12\n')
    found = supernetic.search_table(**supernetic.read_request(file), out=tmp_path / "run")
    assert found.evaluations == 12
