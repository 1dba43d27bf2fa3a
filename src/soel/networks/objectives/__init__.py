"""Training objectives: what each labelled and each unlabelled item weighs on the two losses."""

from soel.plugins import Registry

OBJECTIVES = Registry(
    "objective",
    {
        "soel": "soel.networks.objectives.soel:SoelObjective",
        "one-class": "soel.networks.objectives.one_class:OneClass",
        "supervised": "soel.networks.objectives.supervised:Supervised",
        "all-normal": "soel.networks.objectives.all_normal:AllNormal",
        "loe-soft": "soel.networks.objectives.loe:SoftLOE",
        "loe-hard": "soel.networks.objectives.loe:HardLOE",
        "refinement": "soel.networks.objectives.refinement:Refinement",
        "neighbour-labels": "soel.networks.objectives.neighbour_labels:NeighbourLabels",
        "gaussian-process-labels": "soel.networks.objectives.gaussian_process_labels:GaussianProcessLabels",
    },
)
