"""What the Camilla paper prints, and what its authors' released code reaches on the public tables."""

# Table 1: (ACC, F1, AUC, RMSE) of Titanic and CIFAR-100, (MAE, RMSE) of ESOL and Diamond.
PAPER = {
    "titanic": {
        "Vanilla": (0.625, 0.507, 0.542, 0.433), "Skill-Vanilla": (0.668, 0.562, 0.683, 0.420),
        "IRT": (0.855, 0.781, 0.914, 0.311), "MIRT": (0.771, 0.533, 0.928, 0.345),
        "MF": (0.886, 0.841, 0.931, 0.292), "NeuralCD": (0.898, 0.869, 0.951, 0.270),
        "Camilla-Base": (0.893, 0.852, 0.948, 0.275), "Camilla": (0.899, 0.868, 0.960, 0.267),
    },
    "esol": {
        "IRT": (0.203, 0.264), "MIRT": (0.201, 0.260), "MF": (0.205, 0.261), "Camilla": (0.195, 0.254),
    },
    "diamond": {
        "IRT": (0.152, 0.209), "MIRT": (0.105, 0.152), "MF": (0.132, 0.183), "NeuralCD": (0.108, 0.154),
        "Camilla-Base": (0.092, 0.137), "Camilla": (0.075, 0.114),
    },
}  # fmt: skip

# The released code on the same tables and protocol, three seeds.
AUTHORS = {
    "titanic": {
        "IRT": (0.858, 0.785, 0.913, 0.309), "MIRT": (0.925, 0.899, 0.974, 0.232),
        "MF": (0.885, 0.839, 0.929, 0.293), "NeuralCD": (0.898, 0.870, 0.949, 0.271),
        "Camilla-Base": (0.926, 0.901, 0.975, 0.229), "Camilla": (0.912, 0.886, 0.966, 0.251),
    },
    "cifar100": {
        "IRT": (0.847, 0.795, 0.902, 0.325), "Camilla-Base": (0.873, 0.840, 0.934, 0.301),
        "Camilla": (0.878, 0.849, 0.940, 0.296),
    },
    "esol": {"Camilla": (0.195, 0.253)},
}  # fmt: skip

# Kendall of the released code's abilities: Titanic with accuracy, ESOL with MAE, CIFAR-100 with accuracy.
AUTHORS_CONSISTENCY = {
    "plain accuracy": (0.649, -0.912, 0.954),
    "IRT": (0.123, -0.902, 0.897),
    "Camilla-Base": (0.643, None, 0.889),
    "Camilla": (0.744, -0.919, 0.803),
    "NeuralCD": (0.746, None, None),
}

# Kendall on CIFAR-100 test, images a class: 10 against 90, 50 against 50, 10 against 10.
AUTHORS_STABILITY = {
    "plain accuracy": (0.835, 0.882, 0.786),
    "IRT": (0.076, 0.747, 0.103),
    "Camilla-Base": (0.378, 0.826, 0.368),
    "Camilla": (0.775, 0.782, 0.770),
}

# Table 2: samples, learners, responses.
STATISTICS = {
    "titanic": (418, 353, 147_554), "cifar100": (50_000, 42, 2_100_000), "esol": (1_127, 22, 24_794),
    "diamond": (53_940, 157, 8_468_580),
}  # fmt: skip

# Table 3: prefix of the learner's name in the released log, learners, mean and sd of accuracy.
TITANIC_FAMILIES = {
    "Logistic Regression": ("logistic_regression", 4, 0.769, 0.002),
    "Decision Tree": ("decision_tree", 12, 0.741, 0.021),
    "C-Support Vector": ("SVC_", 15, 0.730, 0.059),
    "Linear Support Vector": ("Linear_SVC", 2, 0.766, 0.0),
    "K-Nearest-Neighbors": ("knn", 20, 0.752, 0.008),
    "Random Forest": ("random_forest", 162, 0.779, 0.007),
    "Gaussian Naive Bayes": ("gaussianNB", 1, 0.751, 0.0),
    "Perceptron": ("perceptron", 15, 0.689, 0.04),
    "SGD Classifier": ("SGD", 122, 0.710, 0.066),
}

# Table 4: accuracy over the 50,000 training images, five folds.
CIFAR_LEARNERS = {
    "resnext101": 0.780, "densenet161": 0.779, "wideresnet": 0.778, "resnext152": 0.776, "densenet201": 0.775,
    "resnet152": 0.773, "resnext50": 0.770, "densenet121": 0.768, "nasnet": 0.766, "inceptionv3": 0.765,
    "resnet101": 0.762, "xception": 0.761, "resnet50": 0.759, "seresnet152": 0.759, "seresnet101": 0.758,
    "resnet34": 0.757, "stochasticdepth101": 0.755, "seresnet34": 0.755, "seresnet50": 0.754,
    "googlenet": 0.752, "seresnet18": 0.749, "inceptionv4": 0.745, "stochasticdepth34": 0.745,
    "resnet18": 0.743, "preactresnet101": 0.742, "preactresnet152": 0.742, "preactresnet50": 0.738,
    "stochasticdepth50": 0.729, "preactresnet18": 0.729, "inceptionresnetv2": 0.721,
    "stochasticdepth18": 0.708, "vgg13": 0.704, "shufflenet": 0.697, "vgg16": 0.696, "shufflenetv2": 0.695,
    "squeezenet": 0.682, "mobilenetv2": 0.672, "vgg19": 0.668, "vgg11": 0.664, "mobilenet": 0.657,
    "attention56": 0.271, "svm": 0.190,
}  # fmt: skip

# Table 5: name in the released log, MAE, RMSE.
ESOL_LEARNERS = {
    "AttentiveFP_canonical_ESOL": (0.425, 0.580), "MPNN_canonical_ESOL": (0.483, 0.655),
    "MPNN_attentivefp_ESOL": (0.497, 0.668), "AttentiveFP_attentivefp_ESOL": (0.505, 0.677),
    "gin_supervised_masking_ESOL": (0.517, 0.753), "Weave_canonical_ESOL": (0.526, 0.687),
    "gin_supervised_infomax_ESOL": (0.571, 0.765), "GCN_canonical_ESOL": (0.581, 0.770),
    "gin_supervised_contextpred_ESOL": (0.651, 0.855), "Weave_attentivefp_ESOL": (0.716, 0.951),
    "cb": (0.887, 1.196), "GCN_attentivefp_ESOL": (0.922, 1.170), "GAT_attentivefp_ESOL": (0.936, 1.174),
    "RF": (0.959, 1.295), "gin_supervised_edgepred_ESOL": (0.988, 1.324), "GBR": (1.029, 1.359),
    "GAT_canonical_ESOL": (1.053, 1.306), "KRN": (1.156, 1.547), "Ridge": (1.187, 1.531),
    "LR": (1.216, 1.565), "ETR": (1.280, 1.785), "Ada": (1.349, 1.682),
}  # fmt: skip

# Table 6: learners, mean and sd of MAE.
DIAMOND_FAMILIES = {
    "Support Vector Regression": (2, 413.8, 70.5), "Ridge": (1, 743.9, 0.0),
    "Decision Tree Regressor": (9, 358.7, 8.1), "LightGBM": (9, 346.8, 70.2),
    "Random Forest": (18, 702.8, 129.2), "K-Neighbors": (12, 375.2, 5.6),
    "Gradient Boosting": (16, 394.1, 33.3), "XGBoost": (27, 373.9, 84.7), "AdaBoost": (9, 881.5, 56.3),
    "MLP": (27, 351.1, 25.9), "CatBoost": (27, 387.4, 129.1),
}  # fmt: skip
