"""What the words of a page mean: terms, zero-cost proxies, blocks, and how a space writes its architectures.

`docs/glossary.md` and `docs/proxies.md` say the same; a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterable

TERMS = {
    "Control": "what one would have had without a search, trained like the candidates: a plain stack of convolutions, "
    "a ResNet, a MobileNetV2, the largest network of the space, a random one. A control that wins the race is handed "
    "over.",
    "Front": "the Pareto front: the networks for which no other network is at least as good in every objective and "
    "better in one.",
    "MACs": "multiply-accumulate operations of one forward pass for one image. Some papers call them FLOPs.",
    "Rank ensemble": "a score made of several: the places of a network among fixed random ones by several zero-cost "
    "proxies, and by the supernet's cross-entropy where there is a supernet, combined into one.",
    "Round": "a part of a race in which every network that is left is trained for the same time. The first one is the "
    "evidence.",
    "Significant": "the 95 % interval of a difference or a correlation excludes 0. Not significant: it includes 0.",
    "Supernet": "one set of weights for all networks of a space.",
    "Tau": "Kendall's rank correlation: +1 for the same order, 0 for none, -1 for the reversed order.",
    "Zero-cost proxy": "a number computed from a network with fresh weights that may predict its accuracy.",
}

PROXIES = {
    "proxy/jacov": "how little the input gradients of different images are correlated",
    "proxy/naswot": "how many images can be told apart by which rectifiers they switch on",
    "proxy/synflow": "how much flows through all paths, whatever the data",
    "proxy/snip": "how much the loss depends on each weight",
    "proxy/grad_norm": "how large the first gradients are",
    "proxy/zen": "how much features change with the image, with the scales that BN removed restored",
    "proxy/expressivity": "how evenly the channels of each block are used",
    "proxy/progressivity": "how much that grows from block to block, at least",
    "proxy/trainability": "how near each block is to passing gradients on at their own size",
    "proxy/vkdnw": "how evenly well the weights could be estimated, and how many layers there are",
    "proxy/meco": "how far the channels of each layer are from repeating one another",
    "proxy/swap": "how many rectifiers tell the images apart each in its own way",
    "proxy/zico": "how large the first gradients are, and how little they differ between batches",
    "proxy/live_macs": "size",
    "proxy/live_params": "size",
    "proxy/layers": "layers with weights and a rectifier",
}

BLOCKS = {  # by the first part of a block's name; the numbers behind E and K differ
    "MB": (
        "MBe_Kk",
        "inverted bottleneck of MobileNetV2: a 1x1 convolution to e times the channels, a depthwise kxk convolution, "
        "and a 1x1 convolution back; with _SE, squeeze-excite weighs the channels in between",
    ),
    "RES": ("RES_Kk", "ResNet's basic block: two kxk convolutions, to whose output the block's input is added"),
    "CONV": ("CONV_Kk", "a kxk convolution with BN and its activation"),
    "DW": ("DW_Kk", "a kxk convolution of each channel, or group of channels, on its own"),
    "REDUCE": ("REDUCE", "NAS-Bench-201's residual block between its stages, which halves the map"),
    "AVGPOOL": ("AVGPOOL", "average pooling"),
    "MAXPOOL": ("MAXPOOL", "maximum pooling"),
    "SKIP": ("SKIP", "passes its input on"),
    "ZERO": ("ZERO", "zeros: there is no connection"),
    "JOIN": ("JOIN", "adds up its inputs, or puts them beside one another"),
    "NORM": ("NORM", "batch normalisation"),
    "GAP": ("GAP", "global average pooling: the mean of each channel"),
    "FLATTEN": ("FLATTEN", "all values of the map one behind the other"),
    "LINEAR": ("LINEAR", "a fully connected layer; the last one is the classifier"),
}

NOTATIONS = {  # by space: an architecture's name, read aloud
    "mixed": (
        "s2-p1.0x2-r1.5x1-m0.75x3-h4",
        "a stem of stride 2 (s1: stride 1; n1: narrow), two plain convolutions of the base width, one residual block "
        "of one and a half times the base width, three inverted bottlenecks of three quarters of it, and a head (h4), "
        "if there is one. The base width doubles from stage to stage",
    ),
    "macro": ("22210202", "one digit for each of eight layers: 0 is identity, 1 is MB3_K3, 2 is MB6_K5"),
    "nasbench201": (
        "|op~0|+|op~0|op~1|+|op~0|op~1|op~2|",
        "the three inner nodes of a cell, separated by +: each operation, and the node whose output it reads",
    ),
    "transnas-micro": (
        "3_02_113",
        "the operations into the three inner nodes of a cell: 0 zero, 1 skip, 2 and 3 convolutions of 1x1 and 3x3",
    ),
    "nasbench101": (
        "0100000 0011000 ...; c1 c3 mp",
        "the rows of a cell's connection matrix, then the operations of its inner vertices: c1 and c3 are 1x1 and 3x3 "
        "convolutions, mp is max pooling",
    ),
    "nasbench101-chain": ("1x1-3x3-skip-1x1-skip", "the operations of a cell's five nodes, one behind the other"),
    "attentive": (
        "192; 16 16 24 ...; 3333333; 1444466; 1333331",
        "resolution; channels of stem, stages and head; then for each of seven stages its kernel, expansion and depth",
    ),
    "scalenet-base": ("MB1_K3 | MB6_K5_SE MB3_K3 | ...", "the blocks of the seven stages, separated by |"),
}


def block_names(labels: Iterable[str]) -> list[tuple[str, str]]:
    """(pattern, what it is) of the blocks that a network has; unknown ones are left out."""
    kinds = dict.fromkeys(_kind(label) for label in labels)
    return [BLOCKS[kind] for kind in BLOCKS if kind in kinds]


def _kind(label: str) -> str:
    first = label.partition("_")[0]
    return "MB" if first.startswith("MB") else first
