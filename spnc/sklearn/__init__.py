"""Estimators for scikit-learn: densities, classifiers, imputers and detectors of anomalies.

    from spnc.sklearn import SpncClassifier
    GridSearchCV(SpncClassifier(), {"states": [4, 8, 16]}).fit(X, y)

Arrays hold numbers; missing cells are NaN. Data frames may also hold texts, categories, booleans
and dates, and are matched by the names of their columns; numbers in them are modelled as in arrays.
"""

from __future__ import annotations

from spnc.sklearn.anomaly import SpncAnomaly
from spnc.sklearn.classifier import SpncClassifier
from spnc.sklearn.density import SpncDensity
from spnc.sklearn.imputer import SpncImputer

__all__ = ["SpncAnomaly", "SpncClassifier", "SpncDensity", "SpncImputer"]
