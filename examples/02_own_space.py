"""A space of your own: declared in a few lines, with exact costs, then searched on images.

    python examples/02_own_space.py

Wherever a list is written there is a choice. docs/declared-spaces.md says what can be declared; the same in a TOML
file works from the command line too: `supernetic search --space mine.toml`. A quarter of a minute of
processor time.
"""

import supernetic

STAGE = {"depth": [1, 2], "kernel": [3, 5], "expansion": [2, 4], "stride": 2}
WHERE = ["macs<=200K"]
SETTINGS = {"steps": 20, "network_steps": 10, "population": 8, "generations": 1, "keep": 1, "limit": 1000}
MACHINE = {"threads": 1, "workers": 1}
OUT = "runs/example-02"


def main() -> None:
    space = supernetic.declare(
        name="mine",
        resolution=28,
        classes=10,
        in_channels=1,
        per="block",  # every block is chosen by itself
        stem={"width": 8, "stride": 2},
        stages=[dict(STAGE, width=c) for c in (12, 16)],
    )
    print(f"{space.size:,} encodings of {len(space.choices)} choices")
    found = supernetic.sample(space, 3, WHERE)
    for arch, macs in zip(found.archs, found.macs, strict=True):
        print(f"{macs:>8,} MACs  {space.format(tuple(arch))}")
    print(f"{found.count[0]:,} encodings keep {WHERE[0]}")
    print(supernetic.search("embedded", space=space, where=WHERE, **SETTINGS, **MACHINE, out=OUT))


if __name__ == "__main__":
    main()
