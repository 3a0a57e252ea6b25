"""Train the small models of scikit-learn and XGBoost: ``train.py FOLDER``.

The data are four measurements of flowers of three kinds. Their order is fixed, so every machine
trains equal models.
"""

import os
import sys

import joblib
import xgboost
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression


def main(folder):
    """Write each model as its runtime reads it."""
    os.makedirs(folder)
    values, kinds = load_iris(return_X_y=True)
    classifier = LogisticRegression(max_iter=1000).fit(values, kinds)
    joblib.dump(classifier, os.path.join(folder, "iris.joblib"))
    regressor = RandomForestRegressor(n_estimators=5, random_state=1).fit(
        values[:, :3], values[:, 3]
    )
    joblib.dump(regressor, os.path.join(folder, "petal.joblib"))
    boosted = xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1).fit(values, kinds)
    boosted.save_model(os.path.join(folder, "iris.json"))


if __name__ == "__main__":
    main(sys.argv[1])
