# %% [markdown]
# # Five annotators, one of them a spammer
# Four annotators know the label in 80, 60, 50 and 40 % of the rows, and guess otherwise. The last
# one always says the same.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from surelabel import CandidateSets, CrowdClassifier

X, y = load_wine(return_X_y=True)
rng = np.random.default_rng(0)


def annotator(knows):
    return np.where(rng.random(len(y)) < knows, y, rng.integers(3, size=len(y)))


votes = np.column_stack([*(annotator(knows) for knows in (0.8, 0.6, 0.5, 0.4)), np.zeros_like(y)])

# %%
model = CrowdClassifier().fit(X, CandidateSets.from_votes(votes))
majority = np.array([np.bincount(row).argmax() for row in votes])
print(f"majority vote {(majority == y).mean():.1%} right")
print(f"CrowdClassifier {(model.transduction_ == y).mean():.1%} right")
for who in model.annotators_:
    print(who.name, f"{who.accuracy:.2f}", who.remark or "")

# %%
figure, axes = plt.subplots(figsize=(5, 2.2), layout="constrained")
annotators = model.annotators_[::-1]
axes.barh([who.name for who in annotators], [who.accuracy for who in annotators])
axes.set(xlabel="accuracy, as estimated", xlim=(0, 1))
plt.show()
