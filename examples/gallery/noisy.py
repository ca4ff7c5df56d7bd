# %% [markdown]
# # Which labels are wrong?
# One label in each row, and every fifth is wrong. The labels are the votes of one annotator.

# %%
import numpy as np
from sklearn.datasets import load_breast_cancer

from surelabel import CandidateSets, CrowdClassifier

X, y = load_breast_cancer(return_X_y=True)
rng = np.random.default_rng(0)
given = np.where(rng.random(len(y)) < 0.2, 1 - y, y)

# %%
model = CrowdClassifier().fit(X, CandidateSets.from_votes(given[:, None]))
suspects = model.transduction_ != given
print(f"{(given == y).mean():.1%} right as given, {(model.transduction_ == y).mean():.1%} after")
print(f"{suspects.sum()} suspects, {(given != y)[suspects].mean():.0%} of them really wrong")
