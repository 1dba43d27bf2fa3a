"""Training objectives: what each labelled and each unlabelled item weighs on the two losses."""

from soel.registry import Registry

OBJECTIVES = Registry(
    "objective",
    {
        "soel": "soel.objectives.soel:SoelObjective",
        "one-class": "soel.objectives.one_class:OneClass",
        "supervised": "soel.objectives.supervised:Supervised",
        "all-normal": "soel.objectives.all_normal:AllNormal",
        "loe-soft": "soel.objectives.loe:SoftLOE",
        "loe-hard": "soel.objectives.loe:HardLOE",
        "refinement": "soel.objectives.refinement:Refinement",
        "neighbour-labels": "soel.objectives.neighbour_labels:NeighbourLabels",
        "gaussian-process-labels": "soel.objectives.gaussian_process_labels:GaussianProcessLabels",
    },
)
