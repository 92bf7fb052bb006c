"""The models whose scores a class may cut: six classifiers of different kinds."""

from __future__ import annotations

from typing import Any


def model_pool() -> list[Any]:
    """Six unfitted classifiers of different kinds."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    return [
        LogisticRegression(max_iter=500),
        GaussianNB(var_smoothing=1e-2),
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(50, max_depth=8, random_state=0),
        HistGradientBoostingClassifier(max_iter=60, random_state=0),
        KNeighborsClassifier(25),
    ]
