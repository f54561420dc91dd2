"""Do your own numbers order architectures as their accuracy does? Numbers by row, and a function of an architecture."""

import supernetic

table = supernetic.load_table("nasbench201")
is_conv = [["conv" in str(option) for option in choice.options] for choice in table.space.choices]


def convolutions(arch: tuple[int, ...]) -> int:
    return sum(is_conv[edge][gene] for edge, gene in enumerate(arch))


print(supernetic.rank("nasbench201", score=convolutions, truth="c10_test_200", against="macs"))
half = [0.5 * number for number in table["c10_valid_12"].values]  # one number per row of the table
print(f"tau of your own array: {supernetic.rank('nasbench201', score=half, truth='c10_test_200').tau:.3f}")
