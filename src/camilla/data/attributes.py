"""Attributes of score-based classifiers: which metric needs which.

Table 5 and Figure 2 of Breskanu and Maisuradze, Implicit performance estimation for score-based classifiers.

They are data, and replaceable: any skill map over the metrics takes their place.
"""

ATTRIBUTES = {
    "C0": "only class 0: no mistakes on its samples",
    "C1": "only class 1: no mistakes on its samples",
    "BC": "both classes, whatever their balance",
    "S0": "class 0 is superior: its precision and recall",
    "S1": "class 1 is superior: its precision and recall",
    "EQ": "the classes are equivalent",
    "PR": "the prevalent class counts most",
}

METRIC_ATTRIBUTES = {
    "AUC": ("BC", "EQ"),
    "PRAUC0": ("S0",),
    "PRAUC1": ("S1",),
    "GCAUC0": ("S0",),
    "GCAUC1": ("S1",),
    "KS": ("EQ",),
    "KTAU": ("BC", "EQ"),
    "ACC": ("PR",),
    "PR0": ("S0",),
    "REC0": ("C0", "S0"),
    "PR1": ("S1",),
    "REC1": ("C1", "S1"),
    "BA": ("BC", "EQ"),
    "FS0": ("S0",),
    "FS1": ("S1",),
    "AVGFS": ("EQ",),
    "FM0": ("S0",),
    "FM1": ("S1",),
    "MKNS": ("EQ",),
    "MCC": ("EQ",),
    "JAC": ("PR",),
    "KAPPA": ("EQ",),
}

# Figure 2 is a picture; the text and the published parameter count of HierNCD leave only these edges.
ATTRIBUTE_EDGES = (
    ("C0", "BC"), ("C1", "BC"), ("C0", "S0"), ("C1", "S1"),
    ("S0", "EQ"), ("S1", "EQ"), ("S0", "PR"), ("S1", "PR"),
)  # fmt: skip
